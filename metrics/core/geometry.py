"""KV geometries: the bytes a token of context takes in the KV cache (beta, paper 2.3).

beta = 2 (keys and values) * layers * kv_heads * head_dim * bytes for attention that keeps keys and
values a head. Models that keep a compressed latent (MLA) or attend globally in a part of their
layers only (hybrids) have a rule of their own, stated beside them. Every byte figure of kvcensus
scales linearly with beta; shares, ratios and rates at relative budgets do not depend on it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from telemetry.errors import UsageError, quoted

__all__ = ["GEOMETRIES", "Geometry", "find_geometry"]


@dataclass(frozen=True)
class Geometry:
    """A named number of KV bytes a token, and where it comes from."""

    name: str
    bytes_per_token: int
    source: str


def _attention(name: str, layers: int, kv_heads: int, head_dim: int, source: str, width: int = 2) -> Geometry:
    rule = f"2 * {layers} layers * {kv_heads} KV heads * {head_dim} * {width} bytes"
    return Geometry(name, 2 * layers * kv_heads * head_dim * width, f"{rule}; {source}")


GEOMETRIES: dict[str, Geometry] = {
    geometry.name: geometry
    for geometry in (
        _attention("llama-2-70b", 80, 8, 128, "Llama 2 (arXiv:2307.09288), released configuration, fp16; "
                   "the reference of arXiv:2610.22863, section 2.3"),
        _attention("llama-3.1-8b", 32, 8, 128, "Llama 3 (arXiv:2407.21783), released configuration, bf16"),
        _attention("llama-3.1-70b", 80, 8, 128, "Llama 3 (arXiv:2407.21783), released configuration, bf16"),
        _attention("qwen2.5-7b", 28, 4, 128, "Qwen2.5 (arXiv:2412.15115), released configuration, bf16"),
        Geometry("deepseek-v3", 61 * (512 + 64) * 2,
                 "multi-head latent attention: 61 layers * (512 latent + 64 rotary key) * 2 bytes, one latent "
                 "for keys and values of all heads; DeepSeek-V3 (arXiv:2412.19437), released configuration, bf16"),
        Geometry("jamba-v0.1", 2 * 4 * 8 * 128 * 2,
                 "hybrid: 4 of 32 layers are attention, 2 * 4 * 8 KV heads * 128 * 2 bytes; the fixed state of the "
                 "Mamba layers does not grow with the context and is left out; Jamba (arXiv:2403.19887), bf16"),
    )
}


def find_geometry(text: str) -> Geometry:
    """A geometry by name, or a plain number of bytes a token."""
    if text in GEOMETRIES:
        return GEOMETRIES[text]
    if re.fullmatch(r"[0-9]{1,10}", text) and 0 < int(text) <= 10**9:
        return Geometry(text, int(text), "given as a number of bytes a token")
    raise UsageError(
        f"unknown geometry {quoted(text)}. Known: {', '.join(sorted(GEOMETRIES))}; "
        "or a whole number of KV bytes a token (1 to 10^9)."
    )
