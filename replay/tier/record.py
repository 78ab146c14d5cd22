"""What a simulation leaves: a line for every turn, and what the tier has counted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["Outcome", "TurnRecord", "as_lines"]


class TurnRecord(NamedTuple):
    """A turn that has ended. Times in microseconds since the first arrival.

    Attributes
    ----------
    session, turn : int
        Places in the workload, from 0.
    arrival_us, admitted_us, first_token_us, end_us : int
        When it came, got its blocks, had its first token, ended.
    prompt_tokens, output_tokens : int
    device_hit_tokens, tier_hit_tokens, prefilled_tokens : int
        Where the prompt came from; they add up to it.
    """

    session: int
    turn: int
    arrival_us: int
    admitted_us: int
    first_token_us: int
    end_us: int
    prompt_tokens: int
    output_tokens: int
    device_hit_tokens: int
    tier_hit_tokens: int
    prefilled_tokens: int


@dataclass(frozen=True)
class Outcome:
    """A run.

    Attributes
    ----------
    records : list of TurnRecord
        In the order of their ends.
    probes : list of TurnRecord
        Warm probes, apart.
    end_us : int
        When the last request ended.
    tier : dict
        Of `Tier.report`, after the last store.
    arrivals : mapping of int to int
        Session -> when it arrived, microseconds, where its first turn came later; else that is its arrival.
    """

    records: list[TurnRecord]
    probes: list[TurnRecord]
    end_us: int
    tier: dict[str, object]
    arrivals: Mapping[int, int] = field(default_factory=dict)


def as_lines(records: Iterable[TurnRecord], about: Mapping[str, object]) -> Iterator[str]:
    """A JSON object a turn, with what `about` says of its run in front."""
    for record in records:
        yield json.dumps({**about, **record._asdict()}, separators=(",", ":"))
