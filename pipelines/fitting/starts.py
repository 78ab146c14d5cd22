"""When sessions start: the window, and weights of its hours and days."""

from __future__ import annotations

import numpy as np

from pipelines.fitting.rows import Rows
from pipelines.fitting.support import Support, rounded
from telemetry.errors import InputError
from tracesim.compiled import Floats, Longs
from tracesim.profile import Arrivals, Window

__all__ = ["fit_arrivals", "fit_window", "start_pieces"]

_HOUR_US = 3_600_000_000
_LONG = 24  # hours from which on the window begins and ends with an hour, and has hours of its own
_ROUNDS = 20
_PIECES = 40
_MOST_DAYS = 3650  # of a window


def fit_window(rows: Rows, *, whole: bool) -> Window:
    """The range of the log, to the hour; a short one has its length to three digits.

    Where no session has calls beyond the log, the window is that of the starts, and cuts no session.
    """
    first, end = int(rows.t_us.min()), int((rows.t_us[rows.offsets[:-1]] if whole else rows.t_us).max())
    if end - first > _MOST_DAYS * 24 * _HOUR_US:
        raise InputError(f"the log goes on for {(end - first) / (24 * _HOUR_US):,.0f} days, and a profile for at most "
                         f"{_MOST_DAYS:,}: are some timestamps of another year? Take those calls out.")
    hour, last = first // _HOUR_US, end // _HOUR_US
    if last - hour < _LONG:
        days = rounded(max(end - first, 1) / (24 * _HOUR_US))
        return Window(hour * _HOUR_US, max(days, 1e-6), rows.sessions, cuts=not whole)
    return Window(hour * _HOUR_US, (last + 1 - hour) / 24, rows.sessions, cuts=not whole)


def fit_arrivals(rows: Rows, window: Window, support: Support) -> Arrivals:
    """When in the window sessions start; and, for windows of another length, the weights of the hours of a day and of
    the days of a week whose product explains the starts.

    An hour or a day with fewer than k sessions has the mean weight of those.
    """
    starts = rows.t_us[rows.offsets[:-1]]
    pieces = start_pieces(starts, window, support.k)
    if window.days * 24 < _LONG:
        return Arrivals((1.0,) * 24, (1.0,) * 7, pieces)
    exposed = np.zeros((7, 24))
    every = window.start_us // _HOUR_US + np.arange(round(window.days * 24), dtype=np.int64)
    np.add.at(exposed, (_weekday(every), every % 24), 1)
    hour = starts // _HOUR_US
    seen = np.zeros((7, 24))
    np.add.at(seen, (_weekday(hour), hour % 24), 1)
    hours, days = np.ones(24), np.ones(7)
    for _ in range(_ROUNDS):
        hours = _weights(seen.sum(axis=0), days @ exposed, support.k)
        days = _weights(seen.sum(axis=1), exposed @ hours, support.k)
    few = int(((seen.sum(axis=0) < support.k) & (exposed.sum(axis=0) > 0)).sum())
    if few:
        support.pooled.append(f"arrivals in {few} hours of the day (fewer than {support.k} sessions each): as one")
    return Arrivals(tuple(map(rounded, hours.tolist())), tuple(map(rounded, days.tolist())), pieces)


def start_pieces(starts: Longs, window: Window, k: int) -> tuple[tuple[float, float], ...]:
    """Parts of the window in which so many sessions start, k or more in each: to a thousandth of the window.

    The first and the last end where the mean of the starts in them puts their ends.
    """
    begin = window.start_us if window.days * 24 >= _LONG else starts.min()
    at = (np.sort(starts) - begin) / (window.days * 24 * _HOUR_US)
    each = max(k, -(-len(at) // _PIECES))
    ranks = [0, *range(each, len(at) - each + 1, each), len(at)]
    inner = [float(at[rank - 1] + at[rank]) / 2 for rank in ranks[1:-1]]
    if inner:
        ends = 2 * float(at[:ranks[1]].mean()) - inner[0], 2 * float(at[ranks[-2]:].mean()) - inner[-1]
    else:
        ends = (float(at.mean() - 3**0.5 * at.std()), float(at.mean() + 3**0.5 * at.std()))
    times = (np.clip(np.round([ends[0], *inner, ends[1]], 3), 0, 1) + 0.0).tolist()  # no -0
    found = dict(zip(times, ranks, strict=True))  # of parts without length the last one stands
    found = {min(found): 0, **{time: rank for time, rank in found.items() if time > min(found)}}
    if len(found) == 1:
        found = {0.0: 0, 0.001: len(at)}
    return tuple((time, round(rank / len(at), 4)) for time, rank in found.items())


def _weekday(hour: Longs) -> Longs:
    return (hour // 24 + 3) % 7  # 1970 began on a Thursday


def _weights(seen: Floats, expected: Floats, k: int) -> Floats:
    """Seen / expected; one weight for all that were seen fewer than k times, the mean for what was not exposed."""
    mean = seen.sum() / expected.sum()
    weights = np.full(len(seen), 1.0)
    enough, few = (seen >= k) & (expected > 0), (seen < k) & (expected > 0)
    weights[enough] = seen[enough] / expected[enough] / mean
    if few.any():
        weights[few] = seen[few].sum() / expected[few].sum() / mean
    return weights
