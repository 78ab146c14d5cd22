"""Mixed-resolution residency whose host tier never fills: what is left when no copy is ever discarded?

Only first touches miss, under every budget; what the budget decides is how many bytes move. See `mrr_host`.

Source: "Understanding KV Residency in Production-Scale Agentic LLM Workloads", arXiv:2610.22863, 6.
"""

from __future__ import annotations

from replay.residency.policies.mrr_host import host_tier

__all__ = ["POLICIES"]

POLICIES = (host_tier("mrr_unbounded", "demote the least recently used to an int4 copy in a host tier without end",
                      None),)
