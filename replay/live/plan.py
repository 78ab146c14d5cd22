"""From calls of whole sessions to what clients send and when: turns to scale, and a prompt for each.

Consecutive prompts of a session have in common what its calls imply:

* with block hashes, the leading full blocks that both have; so also across sessions, there and nowhere else;
* else a context that grew begins with all of the one before;
* a context that shrank begins with what its call found cached, or, if that is not reported, with all that is left.

What a model has put out is not part of the next prompt: tokens of that number are, which it has not generated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random

from kvcensus_gate import Hints
from replay.live.prompts import EMPTY, Prompt, PromptTree, common_prefix
from replay.tier.workload import NOTES, Call, Session, Turn, Workload, poisson, turns_of, with_context
from telemetry.errors import InputError, UsageError

__all__ = ["LIVE_NOTES", "Plan", "Scale", "as_params", "plan_reference", "plan_sessions"]

#: What is counted beyond `NOTES`: prompts by what decides their prefix, first calls that found something cached, whose
#: source the log does not name, and sessions that have blocks in common with another.
LIVE_NOTES = ("prefix_by_blocks", "prefix_appended", "prefix_by_cached", "prefix_all_that_is_left",
              "first_calls_with_cached", "sessions_sharing_blocks")


@dataclass(frozen=True)
class Scale:
    """Factors of token counts and of gaps."""

    tokens: Fraction = Fraction(1)
    time: Fraction = Fraction(1)

    def of_tokens(self, count: int) -> int:
        """A count to scale, rounded half up; at least 1, unless it was 0. It never orders two counts anew."""
        return max(1, self._rounded(count * self.tokens)) if count else 0

    def of_time(self, span_us: int) -> int:
        """Microseconds to scale, rounded half up."""
        return self._rounded(span_us * self.time)

    @staticmethod
    def _rounded(value: Fraction) -> int:
        return (2 * value.numerator + value.denominator) // (2 * value.denominator)


@dataclass(frozen=True)
class Plan:
    """What clients do in one seed.

    Attributes
    ----------
    workload : Workload
        Sessions in the order of their arrival; all that the simulator needs.
    places : tuple of int
        For each, its place in the sample.
    prompts : tuple of tuple of Prompt
        Of every turn of every session.
    tree : PromptTree
        Knows their tokens.
    """

    workload: Workload
    places: tuple[int, ...]
    prompts: tuple[tuple[Prompt, ...], ...]
    tree: PromptTree

    def tokens(self, session: int, turn: int) -> list[int]:
        """The prompt of a turn."""
        return self.tree.tokens(self.prompts[session][turn])


def plan_sessions(name: str, sessions: Sequence[Sequence[Call]], seed: int, rate: float | None, scale: Scale,
                  vocabulary: range) -> Plan:
    """The plan of one seed.

    Parameters
    ----------
    sessions : sequence of sequences of Call
        Whole sessions, each in the order of time.
    rate : float or None
        Poisson arrivals a second, sessions in an order that the seed draws; None: the log's own arrivals, to scale.

    Raises
    ------
    InputError
        No session has a turn.
    UsageError
        A scale that leaves nothing of a block; more sessions than the vocabulary can keep apart.
    """
    notes = dict.fromkeys((*NOTES, *LIVE_NOTES), 0)
    used = [(place, calls) for place, calls in enumerate(with_context(each, notes) for each in sessions) if calls]
    if not used:
        raise InputError(f"{name} has no session with a call that has a context: there is nothing to send.")
    if rate is None:
        used.sort(key=lambda each: each[1][0].t_us)
        first = used[0][1][0].t_us
        arrivals = [scale.of_time(calls[0].t_us - first) for _, calls in used]
        rate = len(used) / (arrivals[-1] / 1e6) if arrivals[-1] else 0.0
    else:
        Random(f"order {seed}").shuffle(used)
        arrivals = poisson(seed, rate, len(used))
    tree = PromptTree(seed, vocabulary)
    prompts = [_prompts(tree, place, calls, scale, notes) for place, calls in used]
    turns = [_scaled(turns_of(calls, notes), own, scale) for (_, calls), own in zip(used, prompts, strict=True)]
    notes["sessions_sharing_blocks"] = _sharing(prompts)
    return Plan(Workload(name, rate, tuple(map(Session, arrivals, turns)), notes), tuple(place for place, _ in used),
                tuple(map(tuple, prompts)), tree)


def plan_reference(load: Workload, count: int, seed: int, scale: Scale, vocabulary: range) -> Plan:
    """The plan of the first `count` sessions of a reference workload: each prompt begins with all of the one before."""
    tree, notes = PromptTree(seed, vocabulary), dict.fromkeys(("prefix_appended",), 0)
    sessions, prompts = [], []
    for place, session in enumerate(load.sessions[:count]):
        own: list[Prompt] = []
        for turn, each in enumerate(session.turns):
            length, before = scale.of_tokens(each.prompt_tokens), own[-1] if own else EMPTY
            notes["prefix_appended"] += bool(own)
            own.append(tree.branch(before, min(len(before), length), length, f"{place} {turn}"))
        sessions.append(Session(session.arrival_us, _scaled(session.turns, own, scale)))
        prompts.append(tuple(own))
    places = tuple(range(len(sessions)))
    return Plan(Workload(load.name, load.rate, tuple(sessions), notes), places, tuple(prompts), tree)


def as_params(hints: Hints) -> dict[str, object]:
    """Hints as `kv_transfer_params`: what `kvcensus_gate.parse_hints` reads."""
    params: dict[str, object] = {"session_id": hints.session_id, "turn_idx": hints.turn_idx}
    if hints.expected_gap_us is not None:
        params["expected_gap_ms"] = hints.expected_gap_us / 1000
    if hints.last_turn:
        params["last_turn"] = True
    return params


def _prompts(tree: PromptTree, place: int, calls: Sequence[Call], scale: Scale, notes: dict[str, int]) -> list[Prompt]:
    found: list[Prompt] = []
    before, prompt = None, EMPTY
    for turn, call in enumerate(calls):
        length = scale.of_tokens(call.context_tokens)
        if call.prefix_keys is not None and call.block_size is not None:
            notes["prefix_by_blocks"] += 1
            blocks = _blocks(call.prefix_keys, call.block_size, call.context_tokens, scale)
            prompt = tree.blocks(blocks)
            shared = len(prompt)
        else:
            shared = scale.of_tokens(_shared(before, call, notes))
        prompt = tree.branch(prompt, shared, length, f"{place} {turn}")
        found.append(prompt)
        before = call
    return found


def _blocks(keys: Sequence[int], size: int, context: int, scale: Scale) -> list[tuple[int, int]]:
    """The full blocks of a context, as the tree names them: a part of a block is no promise about the next call."""
    if size * scale.tokens < 1:
        raise UsageError(f"--token-scale {float(scale.tokens):g} leaves nothing of a block of {size:,} tokens. Scale "
                         f"by {1 / size:g} or more.")
    return [(key, scale.of_tokens((i + 1) * size)) for i, key in enumerate(keys[:context // size])]


def _shared(before: Call | None, call: Call, notes: dict[str, int]) -> int:
    if before is None:
        notes["first_calls_with_cached"] += bool(call.cached_tokens)
        return 0
    if call.context_tokens >= before.context_tokens:
        notes["prefix_appended"] += 1
        return before.context_tokens
    if call.cached_tokens is None:
        notes["prefix_all_that_is_left"] += 1
        return call.context_tokens
    notes["prefix_by_cached"] += 1
    return min(call.cached_tokens, call.context_tokens)


def _scaled(turns: Sequence[Turn], prompts: Sequence[Prompt], scale: Scale) -> tuple[Turn, ...]:
    found, before = [], EMPTY
    for turn, prompt in zip(turns, prompts, strict=True):
        found.append(Turn(len(prompt), scale.of_tokens(turn.output_tokens), scale.of_time(turn.gap_us),
                          common_prefix(before, prompt)))
        before = prompt
    return tuple(found)


def _sharing(prompts: Sequence[Sequence[Prompt]]) -> int:
    """Sessions whose prompts begin with a run of another session's."""
    owners: Mapping[int, set[int]] = {prompt.runs[0]: set() for own in prompts for prompt in own}
    for session, own in enumerate(prompts):
        for prompt in own:
            owners[prompt.runs[0]].add(session)
    return len(set().union(*(sessions for sessions in owners.values() if len(sessions) > 1)))
