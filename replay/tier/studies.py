"""Which rows a ladder has: named sets of conditions, each answering one question."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from kvcensus_gate import find_policy
from replay.tier.condition import Condition
from replay.tier.hints import GAPS, LASTS, HintPlan
from telemetry.errors import UsageError, quoted

__all__ = ["STUDIES", "of_policies", "study"]

_LADDER = ("none", "lru", "arc", "marconi", "mori", "continuum_ttl", "lru_reclaim", "continuum_ttl_admission",
           "gate_tags_off", "job_aware", "gate")
#: The lead of a warm probe, in microseconds: Continuum-D 4.4 has "a fixed lead time" and prints none; a second is ours.
_LEAD_US = 1_000_000


def _plain(*names: str) -> Callable[[int], dict[str, Condition]]:
    return lambda tier_bytes: {name: Condition(name, tier_bytes) for name in names}


def _hints(tier_bytes: int) -> dict[str, Condition]:
    gate = Condition("gate", tier_bytes)
    rows = {"lru": Condition("lru", tier_bytes), "gate": gate}
    rows |= {f"gate gap={kind}": replace(gate, hints=HintPlan(gap=kind)) for kind in GAPS if kind != "exact"}
    return rows | {f"gate last={kind}": replace(gate, hints=HintPlan(last=kind)) for kind in LASTS if kind != "exact"}


def _attribution(tier_bytes: int) -> dict[str, Condition]:
    both = Condition("gate", tier_bytes, HintPlan(gap="none"))
    return {**_plain("lru", "gate_tags_off", "lru_reclaim")(tier_bytes), "gate gap=none": both,
            "gate": Condition("gate", tier_bytes)}


def _warm(tier_bytes: int) -> dict[str, Condition]:
    plain = _plain("none", "lru", "job_aware")(tier_bytes)
    return plain | {"job_aware warm": Condition("job_aware", tier_bytes, warm_lead_us=_LEAD_US)}


#: Longer than any run: a session is live until its end is declared, which is Tenure 4.1 to the letter.
_EVER: dict[str, object] = {"slack_s": 1_000_000, "live_ttl_s": 1_000_000}


def _lives(tier_bytes: int) -> dict[str, Condition]:
    rows = _plain("lru", "gate")(tier_bytes)
    for seconds in (5, 10, 20, 40, 80, 160):
        rows[f"gate_tags_off live_ttl_s={seconds}"] = Condition("gate_tags_off", tier_bytes,
                                                                parameters={"live_ttl_s": seconds})
    for seconds in (0, 20, 80):
        rows[f"gate slack_s={seconds}"] = Condition("gate", tier_bytes, parameters={"slack_s": seconds})
    blinded = HintPlan(last="blinded")
    rows["gate last=blinded"] = Condition("gate", tier_bytes, blinded)
    rows["gate_tags_off live=ever"] = Condition("gate_tags_off", tier_bytes, parameters=_EVER)
    rows["gate live=ever"] = Condition("gate", tier_bytes, parameters=_EVER)
    rows["gate live=ever last=blinded"] = Condition("gate", tier_bytes, blinded, _EVER)
    return rows


#: Name -> its question, and its rows for a tier of so many bytes. The first row named `lru` is the control.
STUDIES: dict[str, tuple[str, Callable[[int], dict[str, Condition]]]] = {
    "ladder": ("every policy", _plain(*_LADDER)),
    "signals": ("policies that read the gate's hints, so that signals are equal and rules differ", _plain(
        "lru", "lru_reclaim", "continuum_ttl", "continuum_ttl_admission", "job_aware", "gate")),
    "attribution": ("the gate without signals, the end bit without the gate, and both", _attribution),
    "hints": ("the gate with hints made worse", _hints),
    "lives": ("how long a session counts as live, which no source prints", _lives),
    "warm": ("Continuum-D's table: no tier, lru, job_aware, and job_aware with warm promotion", _warm),
}


def study(name: str, tier_bytes: int) -> dict[str, Condition]:
    """The rows of a study, by label."""
    if name not in STUDIES:
        raise UsageError(f"unknown study {quoted(name)}. Known: {', '.join(STUDIES)}.")
    return STUDIES[name][1](tier_bytes)


def of_policies(names: Sequence[str], tier_bytes: int, parameters: Mapping[str, Mapping[str, object]]) -> dict[
        str, Condition]:
    """A row a policy; GateError for an unknown one or for a parameter that it does not have."""
    rows = {}
    for name in names:
        given = parameters.get(name, {})
        find_policy(name).configure(given)
        rows[name] = Condition(name, tier_bytes, parameters=given or None)
    return rows
