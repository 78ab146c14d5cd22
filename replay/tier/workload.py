"""Workloads of the tier simulator: sessions whose next turn starts a gap after the previous one has ended.

Two reference workloads, of Tenure and Continuum-D, and sessions of a call log. Everything random is drawn here, before
the simulation and from the seed alone, so that every policy meets the same arrivals, contexts and gaps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from statistics import NormalDist
from typing import NamedTuple

from telemetry.errors import InputError, UsageError, quoted

__all__ = ["NOTES", "REFERENCES", "Call", "Pressure", "Session", "Turn", "Workload", "drawn", "from_calls", "poisson",
           "pressure", "reference", "turns_of", "with_context"]


class Turn(NamedTuple):
    """A turn.

    Attributes
    ----------
    prompt_tokens, output_tokens : int
    gap_us : int
        Microseconds from its end to the next turn's start.
    shared_tokens : int or None
        Leading tokens that its prompt has in common with the prompt of the turn before. None: as many as both have, and
        with what the turn before has put out.
    """

    prompt_tokens: int
    output_tokens: int
    gap_us: int
    shared_tokens: int | None = None


@dataclass(frozen=True)
class Session:
    """A session: when it arrives, in microseconds, and its turns, at least one."""

    arrival_us: int
    turns: tuple[Turn, ...]


@dataclass(frozen=True)
class Workload:
    """Sessions in the order of their arrival.

    Attributes
    ----------
    name : str
    rate : float
        Arrivals a second.
    sessions : tuple of Session
    notes : dict
        Of a call log: reason -> how many calls or gaps were left out or filled in.
    """

    name: str
    rate: float
    sessions: tuple[Session, ...]
    notes: dict[str, int]

    @property
    def turns(self) -> int:
        """Turns of all sessions."""
        return sum(len(session.turns) for session in self.sessions)


def reference(name: str, seed: int, rate: float | None = None) -> Workload:
    """A reference workload; by default at the arrival rate of its source's main result.

    Raises
    ------
    UsageError
        An unknown name.
    """
    if name not in REFERENCES:
        raise UsageError(f"unknown workload {quoted(name)}. Known: {', '.join(REFERENCES)}; or name a call log.")
    make, usual = REFERENCES[name]
    rate = usual if rate is None else rate
    return Workload(name, rate, tuple(make(seed, rate)), {})


def poisson(seed: int, rate: float, count: int) -> list[int]:
    """Arrival times in microseconds: the first at 0, then exponential gaps of mean 1 / rate seconds."""
    draw, at, times = Random(f"arrivals {seed}"), 0.0, []
    for _ in range(count):
        times.append(round(at * 1_000_000))
        at += draw.expovariate(rate)
    return times


# Tenure prints of its corpus: 100 sessions, 5,371 turns in three seeds (3); inputs of 6,945 tokens in the median and
# 30 output tokens (1.1); 1.3 to 1.7 GB a session at 131,072 bytes a token (2.2); 11.3 times the prefill where nothing
# is kept (1.3). Of a context that grows in equal parts from a to b in n turns, that says n * (a + b) / 2 = 11.3 * b, so
# a = 0.2626 * b at the mean n of 17.9. The most turns follow from the largest factor, 18.6, in the same way; the
# fewest so that the mean is right. Evenly spread turns and last contexts are ours: no distribution is printed.
_SWE_SESSIONS = 100
_SWE_TURNS = (6.3, 29.5)
_SWE_LAST_TOKENS = (9_918, 12_970)
_SWE_FIRST_SHARE = 0.2626
_SWE_OUTPUT = 30
_SWE_GAP_S = (6.0, 15.8)


def _swe(seed: int, rate: float) -> list[Session]:
    """Tenure's SWE-agent corpus: the same sessions under every seed, in another order, with other gaps and arrivals."""
    corpus = Random("the corpus of swe")
    spread = [(i + 0.5) / _SWE_SESSIONS for i in range(_SWE_SESSIONS)]
    lasts = [round(_between(_SWE_LAST_TOKENS, share)) for share in spread]
    corpus.shuffle(lasts)
    contexts = [_grown(round(_between(_SWE_TURNS, share)), last) for share, last in zip(spread, lasts, strict=True)]
    draw = Random(f"swe {seed}")
    draw.shuffle(contexts)
    median, p99 = _SWE_GAP_S
    sigma = math.log(p99 / median) / NormalDist().inv_cdf(0.99)
    return [Session(at, _with_gaps([(tokens, _SWE_OUTPUT) for tokens in each],
                                   lambda: draw.lognormvariate(math.log(median), sigma)))
            for at, each in zip(poisson(seed, rate, _SWE_SESSIONS), contexts, strict=True)]


def _grown(turns: int, last: int) -> list[int]:
    first = _SWE_FIRST_SHARE * last
    return [round(first + (last - first) * i / (turns - 1)) for i in range(turns)]


def _between(ends: tuple[float, float], share: float) -> float:
    return ends[0] + (ends[1] - ends[0]) * share


# Continuum-D 6 and 10: 24 jobs, 6 turns, about 1.7 k tokens more a turn, lognormal gaps of mean 5 s, GEN=64. The spread
# of the gaps is not printed: sigma 0.5 is ours.
_JOBS, _JOB_TURNS, _SEGMENT, _JOB_OUTPUT, _JOB_GAP_S, _JOB_SIGMA = 24, 6, 1_700, 64, 5.0, 0.5


def _continuum_d(seed: int, rate: float) -> list[Session]:
    """Continuum-D's jobs."""
    draw = Random(f"continuum-d {seed}")
    mu = math.log(_JOB_GAP_S) - _JOB_SIGMA**2 / 2
    sizes = [(_SEGMENT * (i + 1), _JOB_OUTPUT) for i in range(_JOB_TURNS)]
    return [Session(at, _with_gaps(sizes, lambda: draw.lognormvariate(mu, _JOB_SIGMA)))
            for at in poisson(seed, rate, _JOBS)]


def _with_gaps(sizes: Sequence[tuple[int, int]], gap_s: Callable[[], float]) -> tuple[Turn, ...]:
    """Turns with a drawn gap after each but the last."""
    last = len(sizes) - 1
    return tuple(Turn(prompt, output, round(gap_s() * 1_000_000) if i < last else 0)
                 for i, (prompt, output) in enumerate(sizes))


#: Name -> how its sessions are drawn, and the arrivals a second of its source's main result.
REFERENCES: dict[str, tuple[Callable[[int, float], list[Session]], float]] = {
    "swe": (_swe, 0.5), "continuum-d": (_continuum_d, 2.0)}


#: What is counted of calls that become turns: left out, filled in, not known, and calls that started before the one
#: before them had ended.
NOTES = ("calls_without_context", "outputs_filled_in", "gaps_start_to_start", "gaps_floored")


class Call(NamedTuple):
    """A call of a log; what it does not report is None.

    Attributes
    ----------
    t_us : int
        Start, microseconds.
    context_tokens : int
    output_tokens : int or None
    duration_us : int or None
    cached_tokens : int or None
    prefix_keys : tuple of int or None
        Element i names the whole prefix that ends with block i.
    block_size : int or None
        Tokens of a block.
    """

    t_us: int
    context_tokens: int
    output_tokens: int | None
    duration_us: int | None
    cached_tokens: int | None = None
    prefix_keys: tuple[int, ...] | None = None
    block_size: int | None = None


def drawn(sessions: Sequence[int], seed: int, count: int) -> list[int]:
    """Some of the sessions, without repetition, in a drawn order; all, if there are fewer."""
    return Random(f"sessions {seed}").sample(sessions, min(count, len(sessions)))


def from_calls(name: str, sessions: Iterable[Sequence[Call]], seed: int, rate: float) -> Workload:
    """Whole sessions of a log, in the given order, with Poisson arrivals.

    Parameters
    ----------
    sessions : iterable of sequences of Call
        Each in the order of time.
    seed : int
        Of the arrivals.

    Notes
    -----
    A call of an empty context is no turn. An output that is not reported counts as 1 token. A gap lasts from the latest
    end so far to the next start, 0 if they overlap; where a duration is not reported, from start to start.

    Raises
    ------
    InputError
        No session has a turn.
    """
    notes = dict.fromkeys(NOTES, 0)
    chosen: list[tuple[Turn, ...]] = []
    for calls in sessions:
        used = with_context(calls, notes)
        if used:
            chosen.append(turns_of(used, notes))
    if not chosen:
        raise InputError(f"{name} has no session with a call that has a context: there is nothing to simulate.")
    arrivals = poisson(seed, rate, len(chosen))
    return Workload(name, rate, tuple(map(Session, arrivals, chosen)), notes)


def with_context(calls: Sequence[Call], notes: dict[str, int]) -> list[Call]:
    """The calls that are turns: those with a context; the others are counted in `notes`."""
    used = [call for call in calls if call.context_tokens > 0]
    notes["calls_without_context"] += len(calls) - len(used)
    return used


def turns_of(calls: Sequence[Call], notes: dict[str, int]) -> tuple[Turn, ...]:
    """The turns of a session from its calls, as `from_calls` says; what is filled in is counted in `notes`."""
    gaps, latest = [], calls[0].t_us
    for call, after in pairwise(calls):
        notes["gaps_start_to_start"] += call.duration_us is None
        latest = max(latest, call.t_us + (call.duration_us or 0))
        notes["gaps_floored"] += after.t_us < latest
        gaps.append(max(0, after.t_us - latest))
    notes["outputs_filled_in"] += sum(call.output_tokens is None for call in calls)
    return tuple(Turn(call.context_tokens, max(1, call.output_tokens or 1), gap)
                 for call, gap in zip(calls, [*gaps, 0], strict=True))


class Pressure(NamedTuple):
    """p95 over time, while any session is live, of live sessions and of the tokens of their latest contexts."""

    live_sessions: int
    live_tokens: int


def pressure(workload: Workload) -> Pressure:
    """How much is live if turns take no time: from a session's arrival through its gaps (Tenure 2.2)."""
    changes: list[tuple[int, int, int]] = []
    for session in workload.sessions:
        at, held = session.arrival_us, 0
        changes.append((at, 1, 0))
        for turn in session.turns:
            changes.append((at, 0, turn.prompt_tokens + turn.output_tokens - held))
            held = turn.prompt_tokens + turn.output_tokens
            at += turn.gap_us
        changes.append((at, -1, -held))
    changes.sort()
    sessions = tokens = 0
    spans: list[tuple[int, int, int]] = []
    for (at, more, grown), after in zip(changes, [*changes[1:], changes[-1]], strict=True):
        sessions, tokens = sessions + more, tokens + grown
        if sessions and after[0] > at:
            spans.append((after[0] - at, sessions, tokens))
    return Pressure(_p95([(count, span) for span, count, _ in spans]), _p95([(held, span) for span, _, held in spans]))


def _p95(weighted: list[tuple[int, int]]) -> int:
    """Nearest rank over time."""
    weighted.sort()
    total, seen = sum(weight for _, weight in weighted), 0
    for value, weight in weighted:
        seen += weight
        if 20 * seen >= 19 * total:
            return value
    return 0
