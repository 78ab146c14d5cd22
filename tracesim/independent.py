"""The baseline of the paper: every marginal of a fleet, and nothing that ties them together (paper 6).

Sessions keep their starts and their depths. Gaps, contexts, models, shares of reuse, places and durations are those
of the fleet, each dealt anew among the calls of a group of sessions, each apart from the others. Groups have fixed
borders, so that the calls do not depend on how the fleet is drawn.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tracesim.compiled import Floats, Longs
from tracesim.philox import Component, Numbers
from tracesim.sessions import Calls, Fleet

__all__ = ["GROUP", "IndependentFleet"]

#: Sessions among whose calls values are dealt.
GROUP = 1 << 12


class IndependentFleet(Fleet):
    """A fleet without couplings: the marginals of `Fleet` under the same profile and seed."""

    def calls(self, first: int, count: int) -> Calls:
        """As `Fleet.calls`."""
        groups = range(first // GROUP, -(-(first + count) // GROUP))
        parts = [self._group(group, first, count) for group in groups]
        return Calls.joined(parts)

    def _group(self, group: int, first: int, count: int) -> Calls:
        """The calls of the units that lie in a group."""
        begin, end = group * GROUP, min((group + 1) * GROUP, self.units)
        calls = _dealt(super().calls(begin, end - begin), self._numbers, begin)
        unit = np.cumsum(calls.index == 0) - 1 + begin
        return calls.take((unit >= first) & (unit < first + count))


def _dealt(calls: Calls, numbers: Numbers, first: int) -> Calls:
    offsets = np.append(np.flatnonzero(calls.index == 0), len(calls)).astype(np.int64)
    u = numbers.of_calls(Component.INDEPENDENT, first, offsets)
    place = numbers.of_calls(Component.INDEPENDENT_PLACE, first, offsets)
    contexts, kinds, shares = (np.argsort(u[:, lane], kind="stable") for lane in (0, 1, 2))
    seats, work = (np.argsort(place[:, lane], kind="stable") for lane in (0, 1))
    context = calls.context[contexts]
    reuse = (calls.cached / np.maximum(calls.context, 1))[shares]
    cached = np.minimum(np.floor(reuse * context + 0.5), context).astype(np.int32)
    return replace(calls, t_us=_clocked(calls, offsets, u[:, 3]), context=context, cached=cached,
                   model=calls.model[kinds], region=calls.region[seats], deployment=calls.deployment[seats],
                   output=calls.output[work], duration_us=calls.duration_us[work])


def _clocked(calls: Calls, offsets: Longs, u: Floats) -> Longs:
    """Starts, with the gaps of the group dealt anew."""
    gaps = np.diff(calls.t_us, prepend=0)
    later = np.flatnonzero(calls.index > 0)
    dealt = np.zeros(len(calls), np.int64)
    dealt[later] = gaps[later][np.argsort(u[later], kind="stable")]
    passed = np.cumsum(dealt)
    begins = offsets[:-1]
    depths = np.diff(offsets)
    return np.repeat(calls.t_us[begins] - passed[begins], depths) + passed
