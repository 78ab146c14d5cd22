"""When sessions start: a Poisson process whose rate follows the hours of the day and the days of the week.

Given their number, the starts of a Poisson process are uniform order statistics on the cumulated rate:
running sums of exponential steps, divided by the whole sum. Sums are taken chunk by chunk, so that
the starts of any run of sessions are found without drawing those before it again.
"""

from __future__ import annotations

import numpy as np

from tracesim.compiled import Floats, Longs, compiled
from tracesim.philox import Component, Numbers
from tracesim.profile import Arrivals, Window

__all__ = ["Starts"]

CHUNK = 1 << 14
_HOUR_US = 3_600_000_000


class Starts:
    """Start times of numbered sessions, ascending.

    Parameters
    ----------
    numbers : Numbers
    window : Window
    arrivals : Arrivals
    count : int
        Sessions in the window.
    """

    def __init__(self, numbers: Numbers, window: Window, arrivals: Arrivals, count: int) -> None:
        self._numbers, self._count = numbers, count
        self._start_us = window.start_us
        self._edges, self._share = cumulated_rate(window, arrivals)
        sums = [self._steps(chunk)[-1] for chunk in range(-(-(count + 1) // CHUNK))]
        self._before = np.concatenate(([0.0], np.cumsum(sums)))

    def _steps(self, chunk: int) -> Floats:
        """Running sums of the steps of one chunk; one step more than there are sessions closes the window."""
        first = chunk * CHUNK
        size = min(CHUNK, self._count + 1 - first)
        return _running(self._numbers.of_sessions(Component.ARRIVALS, first, size)[:, 0])

    def of(self, first: int, count: int) -> Longs:
        """Microseconds UTC of the starts of sessions first to first + count - 1."""
        last = first + count
        chunks = range(first // CHUNK, -(-last // CHUNK))
        sums = np.concatenate([self._before[chunk] + self._steps(chunk) for chunk in chunks])
        share = sums[first - chunks.start * CHUNK:last - chunks.start * CHUNK] / self._before[-1]
        offsets = np.interp(share, self._share, self._edges)
        return self._start_us + np.asarray(offsets, np.int64)

    def load(self, starts_us: Longs) -> Floats:
        """Arrival rate at these times, relative to its mean over the window."""
        hour = np.searchsorted(self._edges, starts_us - self._start_us, side="right") - 1
        rate = np.diff(self._share) / np.diff(self._edges) * self._edges[-1]
        return np.asarray(rate[np.minimum(hour, len(rate) - 1)])


def cumulated_rate(window: Window, arrivals: Arrivals) -> tuple[Floats, Floats]:
    """Edges in a window in microseconds from its start, and the share of its sessions before each."""
    span = round(window.days * 24 * _HOUR_US)
    if arrivals.starts:
        times, shares = np.array(arrivals.starts).T
        return times * span, shares.copy()
    clock = window.start_us - window.start_us % _HOUR_US
    edges = np.arange(clock, window.start_us + span + _HOUR_US, _HOUR_US, dtype=np.int64)
    hours = edges[:-1] // _HOUR_US
    days = (hours // 24 + 3) % 7  # 1970 began on a Thursday
    rate = np.asarray(arrivals.hours)[hours % 24] * np.asarray(arrivals.days)[days]
    inside = np.clip(edges, window.start_us, window.start_us + span)
    share = np.concatenate(([0.0], np.cumsum(rate * np.diff(inside))))
    return (inside - window.start_us).astype(np.float64), share / share[-1]


@compiled
def _running(p: Floats) -> Floats:
    """Running sums of exponential steps of mean 1."""
    out = np.empty(len(p), np.float64)
    total = 0.0
    for place in range(len(p)):
        total -= np.log(p[place])
        out[place] = total
    return out
