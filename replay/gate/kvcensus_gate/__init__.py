"""Policies of a DRAM tier for KV cache. Standard library only: it lives in somebody else's serving environment.

>>> tier = make_tier("gate", capacity=4, clock=lambda: 0)
>>> tier.begin("request 1", parse_hints({"session_id": "a", "expected_gap_ms": 5000}))
>>> tier.prepare_store("request 1", ["block 1", "block 2"])
StorePlan(store=('block 1', 'block 2'), evict=(), refused=None)
"""

from kvcensus_gate.counters import Counters
from kvcensus_gate.errors import GateError
from kvcensus_gate.hints import NO_HINTS, Hints, parse_hints
from kvcensus_gate.plan import Clock, Lookup, StorePlan
from kvcensus_gate.registry import find_policy, known_policies, make_tier
from kvcensus_gate.tier import Tier

__all__ = ["NO_HINTS", "Clock", "Counters", "GateError", "Hints", "Lookup", "StorePlan", "Tier", "find_policy",
           "known_policies", "make_tier", "parse_hints"]
