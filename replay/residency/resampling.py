"""Streams of resampled sessions: what other sessions of the same kind might have brought (bootstrap and jackknife).

A session is drawn with all its calls, at the times when they came. Each copy of it is a session of its own, with
objects of its own; calls at one moment stay in the order of the data, and the copies of one call are in the order of
the copies.

Which sessions are in a replicate depends on its seed, its number and how many sessions there are, on nothing else:
session `floor(word * sessions / 2^64)` for each of as many 64-bit words of Philox4x64-10 (Salmon et al., Parallel
random numbers: as easy as 1, 2, 3, SC 2011) under the key (seed, number of the replicate).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replay.residency.compiled import compiled
from replay.residency.stream import MAX_OBJECTS, Stream
from telemetry.errors import InputError, UsageError, quoted

__all__ = ["MOST_REPLICATES", "Bootstrap", "draw_sessions", "group_sessions", "parse_bootstrap", "resample"]

MOST_REPLICATES = 10_000

_GRAMMAR = re.compile(r"([0-9]{1,9})(?::([0-9]{1,18}))?")
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@dataclass(frozen=True)
class Bootstrap:
    """A bootstrap as it was asked for.

    Attributes
    ----------
    replicates : int
        1 to `MOST_REPLICATES`.
    seed : int
    """

    replicates: int
    seed: int = 0

    def __str__(self) -> str:
        return f"{self.replicates:,} replicate{'s' if self.replicates != 1 else ''}, seed {self.seed}"


def parse_bootstrap(text: str) -> Bootstrap | None:
    """The bootstrap that a command line asks for as `N` or `N:SEED`; None for `0`.

    Raises
    ------
    UsageError
        Anything else, and more than `MOST_REPLICATES`.
    """
    match = _GRAMMAR.fullmatch(text)
    if text == "0":
        return None
    if match is None or not 1 <= int(match[1]) <= MOST_REPLICATES:
        raise UsageError(f"--bootstrap {quoted(text)}: write the number of replicates, such as 200, and a seed if you "
                         f"like, below 10^18, such as 200:7; 1 to {MOST_REPLICATES:,} replicates, or 0 for none.")
    return Bootstrap(int(match[1]), int(match[2] or 0))


def draw_sessions(sessions: int, seed: int, replicate: int) -> NDArray[np.int64]:
    """int64[sessions]: how often each session is in a replicate; as many draws, with replacement, as sessions.

    Replicates are numbered from 1.
    """
    words, count = _words(sessions, seed, replicate), np.uint64(sessions)
    # floor(word * sessions / 2^64) in halves of the word: sessions are fewer than 2^31, so nothing overflows.
    drawn = ((words >> _HALF) * count + ((words & _LOW) * count >> _HALF)) >> _HALF
    return np.bincount(drawn.astype(np.int64), minlength=sessions).astype(np.int64)


def group_sessions(sessions: int, seed: int, groups: int) -> NDArray[np.int64]:
    """int64[sessions]: the group of each session, at random; groups differ by at most one session."""
    order = np.argsort(_words(sessions, seed, 0), kind="stable")
    found = np.empty(sessions, np.int64)
    found[order] = np.arange(sessions) % groups
    return found


def _words(count: int, seed: int, replicate: int) -> NDArray[np.uint64]:
    """Random words by address. NumPy keeps the words of its bit generators, unlike its distributions."""
    words: NDArray[np.uint64] = np.random.Philox(key=np.array([seed, replicate], np.uint64)).random_raw(count)
    return words


def resample(stream: Stream, session: NDArray[np.int32], copies: NDArray[np.int64]) -> Stream:
    """The stream with each session in it as often as asked for; O(calls of both), 28 bytes a call of the result.

    Parameters
    ----------
    stream : Stream
        Each of its objects is of one session.
    session : int32[n]
        Session of each access.
    copies : int64[sessions]
        How often each session is in the result; 0 leaves it out.

    Raises
    ------
    InputError
        More objects than a stream may have, or sizes whose sums do not fit 64 bits; see `Stream`.
    """
    place, first = _places(session, copies), _first_copies(stream.objects, session, copies, stream.object_count)
    if first[-1] > MAX_OBJECTS:
        raise InputError(f"replay stream: more than {MAX_OBJECTS} distinct objects in a replicate; take a shorter "
                         "window.")
    objects, tokens, next_use = _copied(stream.objects, stream.tokens, stream.next_use, place, first)
    times = None if stream.time_us is None else np.repeat(stream.time_us, np.diff(place))
    return Stream(objects, tokens, next_use, int(first[-1]), times)


@compiled
def _places(session: NDArray[np.int32], copies: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where the copies of each access begin; at the end how many accesses there are."""
    place = np.zeros(len(session) + 1, np.int64)
    for i in range(len(session)):
        place[i + 1] = place[i] + copies[session[i]]
    return place


@compiled
def _first_copies(objects: NDArray[np.int32], session: NDArray[np.int32], copies: NDArray[np.int64],
                  object_count: int) -> NDArray[np.int64]:
    """The number of each object's first copy; at the end how many objects there are."""
    first = np.zeros(object_count + 1, np.int64)
    for i in range(len(objects)):
        first[objects[i] + 1] = copies[session[i]]
    for number in range(object_count):
        first[number + 1] += first[number]
    return first


@compiled
def _copied(objects: NDArray[np.int32], tokens: NDArray[np.int64], next_use: NDArray[np.int64],
            place: NDArray[np.int64], first: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64],
                                                                         NDArray[np.int64]]:
    """Objects, sizes and next uses. The next use of a copy is the same copy of the next use."""
    n = len(objects)
    total = place[n]
    new_objects = np.empty(total, np.int32)
    new_tokens = np.empty(total, np.int64)
    new_next = np.empty(total, np.int64)
    for i in range(n):
        for copy in range(place[i + 1] - place[i]):
            at = place[i] + copy
            new_objects[at] = first[objects[i]] + copy
            new_tokens[at] = tokens[i]
            new_next[at] = place[next_use[i]] + copy if next_use[i] < n else total
    return new_objects, new_tokens, new_next
