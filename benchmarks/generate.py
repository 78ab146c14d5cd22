"""Write a big synthetic call log: invented numbers with the marginals of a published research trace.

    python benchmarks/generate.py --calls 17800000 --sessions 691000 --seed 1 --out trace.parquet

It exists to load the pipeline, not to stand in for measurements. Whole sessions are drawn block by
block (a block is all that is ever held in floating point), kept as compact integer columns, about
40 bytes a call, and written in time order as a gateway would log them. The same arguments and the
same NumPy build give the same rows; NumPy promises no more than that.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.draw import DEPLOYMENTS, MODELS, REGIONS, Calls, draw_block, draw_depths

BLOCK_SESSIONS: Final = 50_000
ROW_GROUP: Final = 122_880


def say(text: str, since: float) -> None:
    """Progress goes to stderr, so that stdout stays free for pipes."""
    print(f"[{time.perf_counter() - since:6.1f} s] {text}", file=sys.stderr, flush=True)


def hex_strings(words: NDArray[np.uint64], dashes: bool = False) -> pa.Array:
    """Rows of 64-bit words as hexadecimal strings; two words and dashes look like a UUID."""
    table = np.frombuffer(b"".join(b"%02x" % i for i in range(256)), dtype=np.uint8).reshape(256, 2)
    text = table[words.astype(">u8").view(np.uint8).reshape(len(words), -1)].reshape(len(words), -1)
    if dashes:
        text = np.insert(text, [8, 12, 16, 20], ord("-"), axis=1)
    width = text.shape[1]
    offsets = np.arange(len(words) + 1, dtype=np.int64) * width
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(text))]
    return pa.Array.from_buffers(pa.large_string(), len(words), buffers)


def batches(calls: Calls, rng: Generator, sessions: int, turns: int, call_ids: bool) -> Iterator[pa.Table]:
    """The log in time order, one row group at a time."""
    n = len(calls.t_us)
    session_names = hex_strings(rng.integers(0, 2**64, (sessions, 2), dtype=np.uint64), dashes=True)
    turn_names = hex_strings(rng.integers(0, 2**64, (turns, 1), dtype=np.uint64))
    unsessioned = rng.random(n, dtype=np.float32) < 0.001
    order = np.argsort(calls.t_us, kind="stable")
    if call_ids:  # a repeated row carries the same id; the first of the pair is the partial record
        order = np.repeat(order, 1 + (rng.random(n, dtype=np.float32) < 0.01))
    salt = np.uint64(rng.integers(0, 2**64, dtype=np.uint64))
    names = {
        "model": pa.array(MODELS),
        "region": pa.array(REGIONS),
        "deployment": pa.array([f"{m}-{k:02d}" for m in MODELS for k in range(DEPLOYMENTS)]),
    }
    for low in range(0, len(order), ROW_GROUP):
        at = order[low : low + ROW_GROUP]
        anonymous = unsessioned[at]
        output = calls.output[at].astype(np.int64)
        if call_ids:
            after = order[low + 1 : low + 1 + ROW_GROUP]
            partial = np.flatnonzero(at[: len(after)] == after)
            output[partial] //= 4
        region, deployment = calls.region[at], calls.deployment[at]
        place = np.where(deployment < 0, 0, calls.model[at].astype(np.int64) * DEPLOYMENTS + deployment)
        columns = {
            "session_id": session_names.take(pa.array(calls.session[at], mask=anonymous)),
            "timestamp": pa.array(calls.t_us[at]).cast(pa.timestamp("us", tz="UTC")),
            "context_tokens": calls.context[at].astype(np.int64),
            "cached_tokens": calls.cached[at].astype(np.int64),
            "output_tokens": output,
            "model": names["model"].take(pa.array(calls.model[at])),
            "turn_id": turn_names.take(pa.array(calls.turn[at], mask=anonymous)),
            "user_initiated": pa.array(calls.opens[at]),
            "region": names["region"].take(pa.array(region, mask=region < 0)),
            "deployment": names["deployment"].take(pa.array(place, mask=deployment < 0)),
            "duration_ms": calls.duration_us[at] / 1_000.0,
            "status": pa.array(["ok", "error"]).take(pa.array(calls.failed[at].astype(np.int8))),
        }
        if call_ids:  # an odd multiplier permutes the 64-bit words: distinct and in no order
            words = (at.astype(np.uint64) + salt) * np.uint64(0x9E3779B97F4A7C15)
            columns["call_id"] = hex_strings(words[:, None])
        yield pa.table(columns)


def generate(calls: int, sessions: int, seed: int, out: Path, call_ids: bool = False) -> None:
    """Write one trace."""
    since = time.perf_counter()
    depth = draw_depths(np.random.default_rng([seed, 0]), sessions, calls)
    table, done, turns = Calls.empty(calls), 0, 0
    for low in range(0, sessions, BLOCK_SESSIONS):
        block = depth[low : low + BLOCK_SESSIONS]
        at = slice(done, done + int(block.sum()))
        turns = draw_block(np.random.default_rng([seed, 1, low]), block, low, turns, table, at)
        done = at.stop
        say(f"drew {done:,} of {calls:,} calls", since)
    writer, rows, next_say = None, 0, 0
    for batch in batches(table, np.random.default_rng([seed, 2]), sessions, turns, call_ids):
        writer = writer or pq.ParquetWriter(out, batch.schema, compression="zstd", compression_level=1)
        writer.write_table(batch, row_group_size=ROW_GROUP)
        rows += len(batch)
        if rows >= next_say:
            say(f"wrote {rows:,} rows", since)
            next_say = rows + 20 * ROW_GROUP
    if writer:
        writer.close()
    say(f"done: {rows:,} rows, {out.stat().st_size:,} bytes", since)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description="write a synthetic call log as Parquet")
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--sessions", type=int, default=38_900)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--call-ids", action="store_true", help="add call_id, and 1 %% of rows logged twice")
    args = parser.parse_args()
    if not 1 <= args.sessions <= args.calls:
        parser.error("needs at least one session, and at least one call for each")
    generate(args.calls, args.sessions, args.seed, args.out, args.call_ids)


if __name__ == "__main__":
    main()
