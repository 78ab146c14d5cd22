"""A results store of a few literal replays, and a platform of round numbers beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from metrics.core.metric import Findings, Number
from metrics.core.store import Results, StoreWriter
from replay.residency.study import SAMPLED_TABLE, TABLE

CALLS, TOKENS, KSTAR = 100, 10_000, 8_000

PLATFORM = """\
gpu = "a GPU"
model = "a model"
geometry = "{beta}"
currency = "EUR"
[prefill_tokens_per_s]
value = 50
kind = "measured"
source = "here"
[usable_hbm_bytes]
value = 600
kind = "published"
source = "a data sheet"
[gpus_per_replica]
value = 2
kind = "assumed"
source = "so"
[price_per_gpu_hour]
value = 3.6
kind = "assumed"
source = "a price list"
[link_bytes_per_s]
value = 10_000
kind = "derived"
source = "half of it"
"""


def row(policy: str, budget: int, misses: int, missed_tokens: int, *, share: float | None = None, **more: Any) -> dict[
        str, Any]:
    """A row of `residency_replay`; `share` of K* where the budget was one."""
    return {
        "stream": "busiest-hour", "object_key": "session", "release": "last", "policy": policy, "budget_share": share,
        "budget_bytes": budget, "calls": CALLS, "misses": misses, "reconstruction_rate": misses / CALLS,
        "missed_tokens": missed_tokens, "missed_token_share": missed_tokens / TOKENS, "first_touch_floor": 0.05,
        "kstar_bytes": KSTAR, "objects": 5, "promotions": None, **more}


def store(folder: Path, rows: Iterable[dict[str, Any]], *, beta: int = 100, span_s: float = 1000.0,
          tokens: int | None = TOKENS, resampled: Sequence[tuple[float, float]] = ()) -> Results:
    """The rows as characterize would publish them; rows with `low` as those of a sample.

    `resampled` are intervals of the rows by the bootstrap.
    """
    rows, found = list(rows), Findings()
    found.set("replay.busiest-hour.span_s", span_s, CALLS)
    found.set("replay.busiest-hour.tokens", tokens, CALLS)
    if rows:
        sampled = "low" in rows[0]
        blank = {column.name: None for column in SAMPLED_TABLE.columns if column not in TABLE.columns}
        found.table(SAMPLED_TABLE if sampled else TABLE, [{**blank, **each} for each in rows])
    if resampled:
        names = ("stream", "object_key", "release", "policy", "budget_share", "budget_bytes")
        found.tables["replay_uncertainty"] = pa.Table.from_pylist([
            {**{name: row[name] for name in names}, "method": method, "lo": low + shift, "hi": high + shift}
            for row, (low, high) in zip(rows, resampled, strict=True)
            for method, shift in (("jackknife", 0.01), ("bootstrap", 0.0))])
    writer = StoreWriter(folder, "kvcensus characterize")
    writer.add([Number(key, "", "") for key in found.numbers], found, "calls")
    writer.write_numbers()
    writer.write_audit({})
    writer.write_manifest({"name": "literal", "configuration": {"geometry": {
        "name": str(beta), "bytes_per_token": beta}}})
    return Results.open(folder)


def platform(folder: Path, text: str = PLATFORM, beta: int = 100) -> Path:
    """A platform file."""
    path = folder / "mine.toml"
    path.write_text(text.replace("{beta}", str(beta)), encoding="utf-8")
    return path
