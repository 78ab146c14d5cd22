"""Mixed-resolution residency whose int4 copies pay for their scales: what does group quantization cost in room?

An int4 value is 32/128 of an fp16 value, q of `mrr`. Values are quantized in groups that share metadata:
a 16-bit scale for each 128 values makes 33/128; for each 64 values 34/128; a scale and a 16-bit zero point for each 32
values 40/128.

Source: "Understanding KV Residency in Production-Scale Agentic LLM Workloads", arXiv:2610.22863, 5.3.
"""

from __future__ import annotations

from replay.residency.policies.mrr import mixed_resolution

__all__ = ["POLICIES"]

POLICIES = (
    mixed_resolution("mrr_q33", "mrr with copies of 33/128: int4, a scale for each 128 values", copy_units=33),
    mixed_resolution("mrr_q34", "mrr with copies of 34/128: int4, a scale for each 64 values", copy_units=34),
    mixed_resolution("mrr_q40", "mrr with copies of 40/128: int4, a scale and a zero point for each 32 values",
                     copy_units=40),
)
