"""Where each call is served under a route: as logged, sticky, sticky with a load limit.

Routes act on the calls of one session to one model, among the deployments that the stream shows to serve that model.
Each placement comes twice: compiled, and as a plain reference; they agree call for call.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from replay.residency.compiled import compiled
from replay.residency.routing.fleet import MINUTE_US, Fleet

__all__ = ["limited_reference", "place", "replicas_of", "sticky_reference"]


def place(fleet: Fleet, placement: str, load_limit: Fraction) -> NDArray[np.int32]:
    """The server of each call, int32[n]; -1 for a fixed call.

    `as_logged`: the server of the log.

    `sticky`: the server of the first call of the same session and model.

    `sticky_limit`: as sticky, but in each clock minute (UTC) a server takes at most ceil(f * share) of the calls to its
    model, f the load limit and share its *fair share*: (calls to the model in the minute) * (calls of the server) /
    (calls to the model), the last two over the stream, by the log. The call that finds its server full goes to the
    next one in the ring of the model's servers that is not full, and its session stays there from then on. With f >= 1
    there always is one. This is hashing with bounded loads (Mirrokni, Thorup and Zadimoghaddam, arXiv:1608.01350) with
    the first server of the log in place of a hash, and weights. It knows how many calls the minute will bring.
    """
    if placement == "sticky":
        return _sticky(fleet.owner, fleet.server, fleet.owners)
    if placement == "sticky_limit":
        return _limited(fleet.owner, fleet.server, fleet.time_us // MINUTE_US, fleet.owners, fleet.first_server,
                        fleet.model_of, fleet.calls_of, load_limit.numerator, load_limit.denominator)
    return fleet.server


def replicas_of(fleet: Fleet, server: NDArray[np.int32]) -> NDArray[np.int32]:
    """The replica of each call that is served by `server`; fixed calls stay."""
    return np.where(server >= 0, fleet.replica_of[server] if len(fleet.replica_of) else 0,
                    fleet.replica).astype(np.int32)


@compiled
def _sticky(owner: NDArray[np.int32], server: NDArray[np.int32], owners: int) -> NDArray[np.int32]:
    home = np.full(owners, -1, np.int32)
    placed = np.empty(len(owner), np.int32)
    for i in range(len(owner)):
        if home[owner[i]] < 0:
            home[owner[i]] = server[i]
        placed[i] = home[owner[i]]
    return placed


def sticky_reference(fleet: Fleet) -> list[int]:
    """`sticky`, plainly."""
    home: dict[int, int] = {}
    return [home.setdefault(int(owner), int(server)) for owner, server in zip(fleet.owner, fleet.server, strict=True)]


@compiled
def _groups(server: NDArray[np.int32], minute: NDArray[np.int64], model_of: NDArray[np.int32],
            models: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Calls to one model in one minute are a group: the number of each call's, and how many calls it has."""
    group = np.full(len(server), -1, np.int32)
    current = np.full(models, -1, np.int32)
    since = np.zeros(models, np.int64)
    count = np.zeros(1024, np.int64)
    groups = 0
    for i in range(len(server)):
        if server[i] < 0:
            continue
        model = model_of[server[i]]
        if current[model] < 0 or since[model] != minute[i]:
            if groups == len(count):
                more = np.zeros(2 * groups, np.int64)
                more[:groups] = count
                count = more
            current[model], since[model] = groups, minute[i]
            groups += 1
        group[i] = current[model]
        count[group[i]] += 1
    return group, count[:groups]


@compiled
def _limit(numerator: int, denominator: int, group_calls: int, server_calls: int, model_calls: int) -> int:
    """ceil(numerator / denominator * group_calls * server_calls / model_calls) without a product of four numbers."""
    whole, rest = divmod(group_calls * server_calls, model_calls)
    times, left = divmod(numerator * whole, denominator)
    return times + -(-(left * model_calls + numerator * rest) // (denominator * model_calls))


@compiled
def _limited(owner: NDArray[np.int32], server: NDArray[np.int32], minute: NDArray[np.int64], owners: int,
             first_server: NDArray[np.int64], model_of: NDArray[np.int32], calls_of: NDArray[np.int64],
             numerator: int, denominator: int) -> NDArray[np.int32]:
    """O(n log n): `onward` skips full servers, and its paths are shortened as they are walked."""
    models = len(first_server) - 1
    group, count = _groups(server, minute, model_of, models)
    model_calls = np.zeros(models, np.int64)
    for one in range(len(calls_of)):
        model_calls[model_of[one]] += calls_of[one]
    home = np.full(owners, -1, np.int32)
    seen = np.full(len(calls_of), -1, np.int32)  # the group that room and onward speak of
    room = np.zeros(len(calls_of), np.int64)
    onward = np.zeros(len(calls_of), np.int32)
    placed = np.full(len(owner), -1, np.int32)
    for i in range(len(owner)):
        if server[i] < 0:
            continue
        if home[owner[i]] < 0:
            home[owner[i]] = server[i]
        start = home[owner[i]]
        model = model_of[start]
        end = start
        while True:
            if seen[end] != group[i]:
                seen[end] = group[i]
                room[end] = _limit(numerator, denominator, count[group[i]], calls_of[end], model_calls[model])
                onward[end] = end + 1 if end + 1 < first_server[model + 1] else first_server[model]
            if room[end] > 0:
                break
            end = onward[end]
        while start != end:
            onward[start], start = end, onward[start]
        room[end] -= 1
        home[owner[i]] = end
        placed[i] = end
    return placed


def limited_reference(fleet: Fleet, load_limit: Fraction) -> list[int]:
    """`sticky_limit`, plainly."""
    model = [int(fleet.model_of[server]) if server >= 0 else -1 for server in fleet.server]
    minute = [int(time) // MINUTE_US for time in fleet.time_us]
    in_minute, in_stream = Counter(zip(model, minute, strict=True)), Counter(model)
    by_server = Counter(int(server) for server in fleet.server)
    load: Counter[tuple[int, int]] = Counter()
    home: dict[int, int] = {}
    placed = []
    for i in range(fleet.calls):
        if model[i] < 0:
            placed.append(-1)
            continue
        ring = [server for server in range(len(fleet.model_of)) if fleet.model_of[server] == model[i]]
        place = ring.index(home.setdefault(int(fleet.owner[i]), int(fleet.server[i])))
        for server in ring[place:] + ring[:place]:
            share = Fraction(in_minute[model[i], minute[i]] * by_server[server], in_stream[model[i]])
            if load[server, minute[i]] < -(-load_limit * share // 1):
                break
        load[server, minute[i]] += 1
        home[int(fleet.owner[i])] = server
        placed.append(server)
    return placed
