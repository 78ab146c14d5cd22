"""The definitions of METHODOLOGY.md in plain Python: slow, obvious, and written without a look at our SQL.

`account` decides which rows are used; `Fleet` holds the used calls of a window, by session, with what
each call knows about its predecessor. `reference_sessions` and `reference_time` make numbers of it.
A number is an int, a Fraction, or None where it has no value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

Row = dict[str, Any]
Numbers = dict[str, Any]
Tables = dict[str, list[dict[str, Any]]]

BETA = 2 * 80 * 8 * 128 * 2
PPB = 10**9
CLASSES = ("spine", "mid", "scoped", "fanout", "unknown")
MAPPINGS = ("conservative", "broad")
#: The class of each model name that the traces use, under both mappings.
MODELS: dict[str | None, tuple[str, str]] = {
    "opus": ("spine", "spine"), "deep-research": ("spine", "spine"), "reason": ("mid", "spine"),
    "mini": ("scoped", "scoped"), "llama": ("fanout", "fanout"), None: ("unknown", "unknown")}


def share(part: int | None, whole: int | None) -> Fraction | None:
    """part / whole; None where there is no whole."""
    return None if part is None or not whole else Fraction(part, whole)


def quantile(values: Iterable[int], p: str) -> int | None:
    """The smallest value whose cumulative count reaches p of all."""
    return weighted_quantile([(value, 1) for value in values], p)


def weighted_quantile(values: Iterable[tuple[int, int]], p: str) -> int | None:
    counts: Counter[int] = Counter()
    for value, weight in values:
        counts[value] += weight
    total, below = sum(counts.values()), 0
    for value in sorted(counts):
        below += counts[value]
        if total and below >= Fraction(p) * total:
            return value
    return None


def mean_ppb(reuses: Sequence[int]) -> Fraction | None:
    """The mean of reuses in parts per billion, as a share."""
    return share(sum(reuses), len(reuses) * PPB)


def upper(value: int, steps: int) -> int:
    """The first edge above a value, where a decade has this many equal bins (at least one integer wide)."""
    decade = 1
    while value >= 10 * decade:
        decade *= 10
    width = max(9 * decade // steps, 1)
    return (value // width + 1) * width


def cdf_bins(values: Sequence[int], steps: int) -> list[tuple[int, int, int]]:
    """(upper edge, values in the bin, values below the edge), by edge."""
    counts = Counter(upper(value, steps) for value in values)
    return [(edge, counts[edge], sum(n for other, n in counts.items() if other <= edge)) for edge in sorted(counts)]


@dataclass
class Call:
    """A used call, with its predecessor in the session."""

    row: Row
    order: tuple[int, int]
    cached: int | None
    previous: Call | None = None
    opens: bool | None = None
    latest_end: int | None = None  # of the session's earlier calls with a known duration
    index: int = 0

    @property
    def t(self) -> int:
        return int(self.row["t_us"])

    @property
    def x(self) -> int:
        return int(self.row["context_tokens"])

    @property
    def reuse(self) -> int | None:
        """r in parts per billion."""
        return None if self.cached is None or not self.x else self.cached * PPB // self.x

    @property
    def gap(self) -> int | None:
        return None if self.previous is None else self.t - self.previous.t

    @property
    def idle(self) -> int | None:
        """Choice: known where the preceding call's duration is."""
        if self.previous is None or self.previous.row["duration_us"] is None or self.latest_end is None:
            return None
        return max(0, self.t - self.latest_end)

    def model_class(self, mapping: str) -> str:
        return MODELS[self.row["model"]][MAPPINGS.index(mapping)]


@dataclass
class Account:
    """What became of each row, before any window."""

    rows: int
    usable: list[Row]
    excluded: Counter[str] = field(default_factory=Counter)


def place_of(row: Row) -> tuple[int, int]:
    return row["source_rank"], row["source_row"]


def account(rows: Iterable[Row]) -> Account:
    rows = list(rows)
    found = Account(len(rows), [], Counter(row["defect"] for row in rows if row["defect"] is not None))
    for row in rows:
        if row["defect"] is not None:
            continue
        same = [other for other in rows if other["defect"] is None and row["call_id"] is not None
                and other["call_id"] == row["call_id"]]
        best = max(same, key=lambda other: (-1 if other["output_tokens"] is None else other["output_tokens"],
                                            place_of(other)), default=row)
        if best is row:
            found.usable.append(row)
        else:
            found.excluded["duplicate"] += 1
    return found


class Fleet:
    """The used calls of a window."""

    def __init__(self, given: Account, start: int | None = None, end: int | None = None) -> None:
        self.given, self.start, self.end = given, start, end
        used = [row for row in given.usable
                if (start is None or row["t_us"] >= start) and (end is None or row["t_us"] < end)]
        self.calls = sorted((self._call(row) for row in used), key=lambda call: (call.t, call.order))
        self.sessions: dict[str, list[Call]] = {}
        for call in self.calls:
            if call.row["session_id"] is not None:
                self.sessions.setdefault(call.row["session_id"], []).append(call)
        for calls in self.sessions.values():
            self._link(calls)
        self.sessioned = [call for calls in self.sessions.values() for call in calls]
        self.any_region = any(row["region"] is not None for row in given.usable)

    @staticmethod
    def _call(row: Row) -> Call:
        cached = row["cached_tokens"]
        return Call(row, place_of(row), None if cached is None else min(cached, row["context_tokens"]))

    @staticmethod
    def _link(calls: list[Call]) -> None:
        turns: set[str] = set()
        ends: list[int] = []
        for place, call in enumerate(calls):
            call.index = place + 1
            call.previous = calls[place - 1] if place else None
            call.latest_end = max(ends, default=None)
            turn = call.row["turn_id"]
            if call.row["user_initiated"] is not None:
                call.opens = call.row["user_initiated"]
            elif turn is not None:
                call.opens = turn not in turns
            if turn is not None:
                turns.add(turn)
            if call.row["duration_us"] is not None:
                ends.append(call.t + call.row["duration_us"])

    def place(self, call: Call) -> tuple[str | None, str] | None:
        """Where a call was served: region and deployment, the name alone where nothing names a region."""
        if call.row["deployment"] is None or (self.any_region and call.row["region"] is None):
            return None
        return call.row["region"], call.row["deployment"]

    def move(self, before: Call | None, call: Call) -> str:
        """What changed between two calls of a session."""
        if before is None:
            return "first_call"
        if before.row["model"] is None or call.row["model"] is None:
            return "unknown_model"
        if before.row["model"] != call.row["model"]:
            return "model_switch"
        here, there = self.place(call), self.place(before)
        if here is not None and here == there:
            return "same_deployment"
        regions = {before.row["region"], call.row["region"]}
        if None not in regions and len(regions) == 2:
            return "cross_region"
        return "unknown" if here is None or there is None else "cross_deployment"

    def knows(self, column: str) -> bool:
        """Some sessioned call has a value."""
        return any(call.row[column] is not None for call in self.sessioned)

    def peak(self, name: str) -> int:
        return max(call.x for call in self.sessions[name])

    def known(self, value: Callable[[Call], Any]) -> list[Any]:
        """The values of sessioned calls that have one."""
        return [found for found in map(value, self.sessioned) if found is not None]
