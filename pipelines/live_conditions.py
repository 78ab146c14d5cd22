"""Conditions of a live replay as a user writes them: `gate`, `gate:gap=noise50:last=half`, `job_aware:warm=1s`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from kvcensus_gate import GateError, find_policy
from replay.tier.condition import Condition
from replay.tier.hints import GAPS, LASTS, HintPlan
from telemetry.errors import UsageError, quoted

__all__ = ["CONDITIONS_HELP", "parse_conditions"]

CONDITIONS_HELP = ("conditions: policies, each with what differs: "
                   f"gap={'|'.join(GAPS)} (gap hints), last={'|'.join(LASTS)} (end bits), warm=TIME (a probe that long "
                   "before the expected wake-up), such as gate:gap=noise50:warm=1s")
_WORD = re.compile(r"(gap|last)=([0-9a-z]{1,20})|(warm)=([0-9]{1,6})(ms|s)")
_UNITS_US = {"ms": 1_000, "s": 1_000_000}


def parse_conditions(text: str, tier_bytes: int, settings: Mapping[str, Mapping[str, object]]) -> dict[str, Condition]:
    """The conditions by label, which is what the user wrote.

    Parameters
    ----------
    settings : mapping
        Policy -> parameters; policies are those of the conditions.

    Raises
    ------
    UsageError
        An unknown policy, parameter or word; a condition that is named twice.
    """
    found: dict[str, Condition] = {}
    for label in (part.strip() for part in text.split(",")):
        policy, *words = label.split(":")
        condition = _condition(policy, words, tier_bytes, settings.get(policy), label)
        if condition in found.values():
            raise UsageError(f"--conditions {quoted(text)}: {quoted(label)} is there twice.")
        found[label] = condition
    return found


def _condition(policy: str, words: Sequence[str], tier_bytes: int, parameters: Mapping[str, object] | None,
               label: str) -> Condition:
    said: dict[str, str] = {}
    lead = None
    for word in words:
        match = _WORD.fullmatch(word)
        if match is None or (match[1] or match[3]) in said:
            raise UsageError(f"--conditions {quoted(label)}: {quoted(word)} is none of gap=KIND, last=KIND and "
                             "warm=TIME, such as warm=500ms; or it is there twice.")
        said[match[1] or match[3]] = match[2]
        if match[3]:
            lead = int(match[4]) * _UNITS_US[match[5]]
    try:
        find_policy(policy).configure(parameters or {})
    except GateError as error:
        raise UsageError(f"--conditions {quoted(label)}: {error}") from error
    hints = HintPlan(said.get("gap", "exact"), said.get("last", "exact"))
    return Condition(policy, tier_bytes, hints, parameters, lead)
