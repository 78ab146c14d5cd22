"""Recorded sessions: numbers straight from the JSON files against those of a whole run.

The plain side reads the files with `json`, orders calls, and counts; it shares no code with the adapter, the
engine or the metrics. Files start at synthetic arrivals, so what depends on how sessions overlap is compared for
one file at a time, in which a session and its subagents share their start.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from reference import BETA, quantile
from reference_time import peak

from metrics.core.store import Results
from pipelines.options import parse
from pipelines.run import characterize

WEKA = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "weka"
# Two with subagents and two models, one with calls of unknown duration, one plain.
ALONE = ("trace_0291.json", "trace_0277.json", "trace_0536.json", "trace_0115.json")
TOGETHER = ("trace_0613.json", "trace_0306.json", "trace_0723.json", "trace_0536.json")

pytestmark = [pytest.mark.slow,
              pytest.mark.skipif(not WEKA.is_dir(), reason="no shared/data/weka beside this checkout")]


@dataclass
class Request:
    """One recorded request: where it belongs, microseconds from the start of its file, and what it carried."""

    session: str
    t: int
    x: int
    o: int
    model: str
    blocks: list[int]
    busy: int | None
    cached: int = 0


def micros(number: Decimal) -> int:
    return int((number * 10**6).to_integral_value(ROUND_HALF_EVEN))


def walk(requests: list[dict[str, Any]], session: str, start: int) -> Iterator[Request]:
    for place, request in enumerate(requests):
        t = start + micros(Decimal(request["t"]))
        if request["type"] == "subagent":
            yield from walk(request["requests"], f"{session}/{place}", t)
        else:
            yield Request(session, t, request["in"], request["out"], request["model"], request["hash_ids"],
                          micros(Decimal(request["api_time"])) if "api_time" in request else None)


def requests_of(name: str) -> list[Request]:
    """Requests in the order of time, with the tokens that an infinite cache per model had."""
    recorded = json.loads((WEKA / name).read_bytes(), parse_float=Decimal)
    requests = sorted(walk(recorded["requests"], name, 0), key=lambda request: request.t)
    for place, request in enumerate(requests):
        shared = [_common(request.blocks, earlier.blocks) for earlier in requests[:place]
                  if earlier.model == request.model]
        request.cached = min(max(shared, default=0) * recorded["block_size"], request.x)
    return requests


def _common(ours: list[int], theirs: list[int]) -> int:
    blocks = 0
    for a, b in zip(ours, theirs, strict=False):
        if a != b:
            break
        blocks += 1
    return blocks


def run(folder: Path, *names: str) -> Results:
    options = parse([*(str(WEKA / name) for name in names), "--format", "weka", "--arrivals", "poisson:0.01:3",
                     "--out", str(folder / "out"), "--policies", "lru", "--key", "session", "--budgets", "100%",
                     "--threads", "2"])
    return characterize(options).windows[0]


def by_session(requests: list[Request]) -> list[list[Request]]:
    sessions: dict[str, list[Request]] = {}
    for request in requests:
        sessions.setdefault(request.session, []).append(request)
    return list(sessions.values())


def expected(requests: list[Request]) -> dict[str, Any]:
    """What does not depend on when a session starts."""
    sessions = by_session(requests)
    depths, peaks = [len(calls) for calls in sessions], [max(call.x for call in calls) for calls in sessions]
    gaps = [b.t - a.t for calls in sessions for a, b in itertools.pairwise(calls)]
    idle = [max(0, calls[i].t - max(call.t + call.busy for call in calls[:i] if call.busy is not None))
            for calls in sessions for i in range(1, len(calls)) if calls[i - 1].busy is not None]
    x, c, o = (sum(getattr(call, what) for call in requests) for what in ("x", "cached", "o"))
    shrunk = [b.x * 10**9 // a.x for calls in sessions for a, b in itertools.pairwise(calls) if b.x < a.x]
    marks = {mark: [calls[mark - 1].x for calls in sessions if len(calls) >= mark] for mark in (1, 11, 30)}
    us = {f"gap.{kind}{p}_s": quantile(values, rank) for kind, values in (("", gaps), ("idle_", idle))
          for p, rank in (("p50", "0.5"), ("p99", "0.99"), ("max", "1"))}
    return {
        "trace.calls": len(requests), "trace.sessions": len(sessions),
        "trace.models": len({call.model for call in requests}),
        "depth.p50": quantile(depths, "0.5"), "depth.p99": quantile(depths, "0.99"), "depth.max": max(depths),
        "depth.mean": Fraction(len(requests), len(sessions)),
        **{f"context.index_{mark}_p50": quantile(xs, "0.5") for mark, xs in marks.items()},
        "context.share": Fraction(x, x + o), "context.to_output": Fraction(x, o),
        "context.reduction_remaining_p50": Fraction(quantile(shrunk, "0.5") or 0, 10**9) if shrunk else None,
        "reuse.aggregate": Fraction(c, x), "reuse.carry_tax": Fraction(x, x - c),
        "reuse.calls_ge_95": Fraction(sum(20 * call.cached >= 19 * call.x for call in requests), len(requests)),
        "reuse.calls_lt_20": Fraction(sum(5 * call.cached < call.x for call in requests), len(requests)),
        "working_set.p50_gib": Fraction((quantile(peaks, "0.5") or 0) * BETA, 2**30),
        "working_set.p99_gib": Fraction((quantile(peaks, "0.99") or 0) * BETA, 2**30),
        **{key: None if value is None else Fraction(value, 10**6) for key, value in us.items()},
    }


def different(results: Results, wanted: dict[str, Any]) -> dict[str, Any]:
    return {key: (results.numbers[key].value, value) for key, value in wanted.items()
            if results.numbers[key].value != (float(value) if isinstance(value, Fraction) else value)}


@pytest.mark.parametrize("name", ALONE)
def test_one_file(tmp_path: Path, name: str) -> None:
    requests = requests_of(name)
    results = run(tmp_path, name)
    lives = [(calls[0].t, calls[-1].t, max(call.x for call in calls)) for calls in by_session(requests)]
    tokens, most = peak(lives)
    # One file has one start, so its ceilings do not depend on it.
    wanted = expected(requests) | {
        "trace.span_s": Fraction(max(call.t for call in requests), 10**6),
        "ceiling.hold_all_live_bytes": tokens * BETA, "ceiling.peak_sessions": most,
        "idle_cap.inf.ceiling_bytes": tokens * BETA,
    }
    assert different(results, wanted) == {}
    assert results.audit["rows_read"] == results.audit["rows_used"] == len(requests)


def test_several_files(tmp_path: Path) -> None:
    # Hash ids are local to a file: no file finds a prefix of another.
    requests = [request for name in TOGETHER for request in requests_of(name)]
    assert different(run(tmp_path, *TOGETHER), expected(requests)) == {}


def test_a_file_given_twice_counts_once(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("a.json", "b.json"):
        (copy / name).write_bytes((WEKA / "trace_0613.json").read_bytes())
    requests = requests_of("trace_0613.json")
    results = run(tmp_path, "trace_0613.json", str(copy / "a.json"), str(copy / "b.json"))
    assert different(results, expected(requests)) == {}
    assert results.audit["rows_excluded"]["duplicate"] == 2 * len(requests)
