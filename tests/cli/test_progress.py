"""Progress on stderr: a bar with pace and time left on a terminal, else a line at each tenth."""

from __future__ import annotations

import io
from itertools import count

import pytest

import pipelines.progress
from pipelines.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_pieces_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = count()
    monkeypatch.setattr(pipelines.progress.time, "perf_counter", lambda: float(next(seconds)))
    stream = Terminal()
    with Progress(stream=stream).pieces("replaying", 4, "cells") as one:
        one(True)
        one(False)
        one(False)
    shown = stream.getvalue().split("\r\x1b[2K")[1:]
    assert shown[0] == "[....................] replaying 4 cells ..."
    assert shown[1] == "[#####...............] replaying 1 of 4 cells "  # it was known: no pace yet
    assert shown[2].startswith("[##########..........] replaying 2 of 4 cells, 0.")
    assert shown[3].startswith("[###############.....] replaying 3 of 4 cells, 0.")
    # The second is done after so many seconds that the last one takes half of them.
    rate, left = shown[3].strip().split(", ")[1:]
    assert float(left.removesuffix(" s left")) == pytest.approx(1 / float(rate.removesuffix(" a second")), abs=0.5)
    assert shown[4].startswith("[####################] replaying 4 cells ")
    assert shown[4].endswith(" s\n")


def test_pieces_as_lines() -> None:
    stream = io.StringIO()
    with Progress(stream=stream).pieces("replaying", 25, "cells") as one:
        for _ in range(25):
            one(False)
    assert stream.getvalue().splitlines() == ["replaying 25 cells ...", *(
        f"replaying {done} of 25 cells ..." for done in (3, 5, 8, 10, 13, 15, 18, 20, 23))]


def test_a_message_after_a_stop_has_a_line_of_its_own() -> None:
    stream = Terminal()
    with pytest.raises(KeyboardInterrupt), Progress(stream=stream).stage("reading"):
        raise KeyboardInterrupt
    assert stream.getvalue().endswith("reading ...\n")
