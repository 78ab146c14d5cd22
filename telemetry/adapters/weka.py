"""Claude Code sessions as kv-cache-tester records them: one JSON file a session.

Keys of a file: `id, block_size, hash_id_scope, requests`; of a request: `t` (seconds from the
session's start), `model, in, out, hash_ids` (full blocks of the context), `api_time` (seconds),
`input_types`; an entry of type `subagent` holds `requests` whose `t` counts from the subagent.

What the format lacks and how it is filled:

* Place in time. Every session starts at t = 0, so sessions get Poisson arrivals that the user
  declares. A repeated file draws none: the fleet is the same with and without it.
* Cached tokens. They follow from an infinite prefix cache per (file, model), an upper bound: it
  holds what any earlier-started call of the session or its subagents carried, even one that was
  still running.
* Turns. `input_types` covers what was new since the recorded request before. Text alone opens a
  turn; a tool result alone does not; both together (calls in between went unrecorded, or the user
  spoke while tools ran) cannot be told apart and stay unclassified. The first request of a
  session opens a turn; a subagent's requests never do.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from telemetry.adapter import Adapter, Arrivals, DefectLog, ReadOptions, Source
from telemetry.batching import INT64_MAX, Call, batches, count_of, microseconds_of, parse_json, text
from telemetry.errors import InputError, UsageError, quoted, shorten
from telemetry.prefixes import chain_keys, scope_seed
from telemetry.schema import TIME_TO_US

__all__ = ["ADAPTER", "START_US"]

#: Where the synthetic arrivals begin: 2026-01-01T00:00:00Z.
START_US: Final = 1_767_225_600_000_000

_FILE_LIMIT: Final = 512 * 2**20  # a session is loaded whole
_DEPTH_LIMIT: Final = 16  # subagents of subagents
_SPAN_LIMIT_S: Final = 10 * 366 * 86_400  # ten years: no session lasts longer


class _PoissonStarts:
    """Start times of a Poisson process, one after another.

    By inverse transform of Philox's raw bits: NumPy promises the bit stream of a bit generator
    over its versions, but not the stream of `Generator.exponential`.
    """

    def __init__(self, arrivals: Arrivals) -> None:
        self._bits = np.random.Philox(arrivals.seed)
        self._rate = arrivals.rate
        self._now_us = START_US

    def next_us(self) -> int:
        uniform = (int(self._bits.random_raw()) >> 11) * 2.0**-53
        gap_s = -math.log1p(-uniform) / self._rate
        if gap_s > _SPAN_LIMIT_S:
            raise UsageError(f"--arrivals: a rate of {self._rate} sessions a second leaves years between two "
                             "sessions. Give a higher one.")
        self._now_us += round(gap_s * 1_000_000)
        if self._now_us >= TIME_TO_US:
            raise UsageError(f"--arrivals: at a rate of {self._rate} sessions a second they go on after the year "
                             "2199. Give a higher one.")
        return self._now_us


@dataclass
class _File:
    """A session's file while its calls are collected."""

    source: Source
    log: DefectLog
    block_size: int
    seed: int
    defect: str | None  # what the whole file's rows carry
    taken: set[str]  # session ids of the input
    calls: list[Call] = field(default_factory=list)

    def unique(self, name: str) -> str:
        """`name`, or the first of name#2, name#3, ... that no session has yet."""
        unique, copy = name, 1
        while unique in self.taken:
            copy += 1
            unique = f"{name}#{copy}"
        self.taken.add(unique)
        return unique

    def collect(self, requests: list[Any], session: str, parent: str | None, start_us: int | None,
                depth: int = 0) -> None:
        """Rows of one session and, below it, of its subagents, in the order of the file."""
        before_us = None
        for index, request in enumerate(requests):
            row = len(self.calls) + 1
            if not isinstance(request, dict):
                self.bad(row, session, parent, "unreadable", "requests", request)
                continue
            offset_us = microseconds_of(request.get("t"), 1_000_000, _SPAN_LIMIT_S)
            t_us = None if offset_us is None or start_us is None else start_us + offset_us
            if t_us is not None and t_us >= TIME_TO_US:
                t_us = None
            if t_us is not None:
                if before_us is not None and t_us < before_us:
                    self.log.flag("clock_reversal")
                before_us = t_us
            if request.get("type") != "subagent":
                opens = False if parent is not None else True if index == 0 else _opens_turn(request)
                self.add(row, request, session, parent, t_us, opens)
            elif isinstance(request.get("requests"), list) and depth < _DEPTH_LIMIT:
                agent = text(request.get("agent_id")) or "subagent"
                self.collect(request["requests"], self.unique(f"{session}/{agent}"), session, t_us, depth + 1)
            else:
                self.bad(row, session, parent, "unreadable", "requests", request.get("requests"))

    def add(self, row: int, request: Mapping[str, Any], session: str, parent: str | None,
            t_us: int | None, opens: bool | None) -> None:
        """The row of one request."""
        context = count_of(request.get("in"))
        output = count_of(request.get("out"))
        if t_us is None:
            self.bad(row, session, parent, "bad_timestamp", "t", request.get("t"))
            return
        if context is None:
            self.bad(row, session, parent, "bad_tokens", "in", request.get("in"))
            return
        if output is None and request.get("out") is not None:
            self.bad(row, session, parent, "bad_tokens", "out", request.get("out"))
            return
        duration = microseconds_of(request.get("api_time"), 1_000_000)
        if duration is None and request.get("api_time") is not None:
            self.log.flag("bad_optional")
        self.calls.append(Call(
            source_rank=self.source.rank, source_row=row, session_id=session, t_us=t_us,
            context_tokens=context, output_tokens=output, model=text(request.get("model")),
            user_initiated=opens, duration_us=duration, parent_session_id=parent,
            prefix_keys=self.keys(request.get("hash_ids")), block_size=self.block_size, defect=self.defect))

    def keys(self, ids: object) -> npt.NDArray[np.int64] | None:
        """Prefix keys of a request; null when it has no block ids that could be used."""
        if ids is None:
            return None
        numbers = [count_of(i, INT64_MAX) for i in ids] if isinstance(ids, list) else [None]
        if None in numbers:
            self.log.flag("bad_optional")
            return None
        flat = np.array(numbers, dtype=np.int64)
        return chain_keys(flat, np.array([0, flat.size]), self.seed)

    def bad(self, row: int, session: str, parent: str | None, defect: str, column: str, value: object
            ) -> None:
        """The row of a request that cannot be used."""
        self.log.note(defect, self.source, row, column, value)
        self.calls.append(Call(source_rank=self.source.rank, source_row=row, session_id=session,
                               parent_session_id=parent, defect=defect))

    def derive_cached(self) -> None:
        """Cached tokens: the longest prefix that an earlier call of the same model carried."""
        held: dict[str | None, set[int]] = {}
        usable = (call for call in self.calls if call.get("context_tokens") is not None)
        for call in sorted(usable, key=lambda call: (call["t_us"], call["source_row"])):
            keys = call["prefix_keys"]
            if keys is None:
                continue
            cache = held.setdefault(call["model"], set())
            blocks = 0
            for key in keys.tolist():
                if key not in cache:
                    break
                blocks += 1
            cache.update(keys[blocks:].tolist())
            context = call["context_tokens"] or 0
            # A trace that also hashes its last, partial block would else be cached beyond itself.
            call["cached_tokens"] = min(blocks * self.block_size, context)


def _opens_turn(request: Mapping[str, Any]) -> bool | None:
    kinds = request.get("input_types")
    if not isinstance(kinds, list) or ("text" in kinds and "tool_result" in kinds):
        return None
    return "text" in kinds


def _load(source: Source) -> dict[str, Any]:
    """The session of a file, its frame checked.

    Raises
    ------
    InputError
        When the file is not a session of this format; says what was expected where.
    """
    try:
        if source.size > _FILE_LIMIT:
            raise InputError(f"{source.name}: larger than {_FILE_LIMIT >> 20} MiB; a file of this format is "
                             "one session. Split it, or check --format.")
        with source.open() as stream:
            session = parse_json(stream.read())
        if isinstance(session, dict):
            session["digest"] = _digest(session.get("requests"))
    except OSError as error:
        raise InputError(f"{source.name}: cannot be read ({error.strerror}). Check that it exists and may be "
                         "read.") from None
    except ValueError as error:
        raise InputError(f"{source.name}: not JSON ({shorten(str(error), 120)}). Was it cut short? Copy it "
                         "again, or leave it out.") from None
    if not isinstance(session, dict):
        raise InputError(f"{source.name}: a {type(session).__name__} at the top, not a session object. "
                         "Check --format.")
    size = count_of(session.get("block_size"))
    good = {
        "id": text(session.get("id")) not in (None, ""),
        "block_size": size is not None and 0 < size < 2**31,
        "hash_id_scope": session.get("hash_id_scope") in ("local", "global"),
        "requests": isinstance(session.get("requests"), list),
    }
    expected = {"id": "text", "block_size": "tokens a block, 1 or more", "hash_id_scope": "local or global",
                "requests": "a list"}
    for key, fits in good.items():
        if not fits:
            value = f"is {quoted(session[key])}" if key in session else "is missing"
            raise InputError(f"{source.name}: key {key!r} {value} (expected: {expected[key]}). Check "
                             "--format, or leave the file out.")
    return session


def _digest(requests: object) -> str:
    """The same for equal requests, whatever the layout of the file or the session's id."""
    def plain(number: object) -> str:
        return str(number.normalize() if isinstance(number, Decimal) else number)
    try:
        canonical = json.dumps(requests, sort_keys=True, separators=(",", ":"), default=plain)
    except RecursionError:
        raise ValueError("JSON nested too deep") from None
    return hashlib.blake2b(canonical.encode("ascii"), digest_size=16).hexdigest()


def _calls(sources: list[Source], arrivals: Arrivals, log: DefectLog) -> Iterator[Call]:
    starts = _PoissonStarts(arrivals)
    first_starts: dict[str, int] = {}
    taken: set[str] = set()
    for source in sources:
        session = _load(source)
        digest: str = session["digest"]
        repeated = digest in first_starts or source.repeats is not None
        if digest not in first_starts:
            first_starts[digest] = starts.next_us()
        name = text(session["id"]) or ""
        seed = 0 if session["hash_id_scope"] == "global" else scope_seed(name, digest)
        file = _File(source, log, int(session["block_size"]), seed, "duplicate" if repeated else None, taken)
        file.collect(session["requests"], file.unique(name), None, first_starts[digest])
        file.derive_cached()
        yield from file.calls


def _read(sources: list[Source], options: ReadOptions, log: DefectLog) -> Iterator[pa.RecordBatch]:
    arrivals = options.arrivals
    if arrivals is None:
        raise UsageError("format weka has no start times of its own: every session begins at t = 0. Add "
                         "`--arrivals poisson:RATE[:SEED]` (sessions a second).")
    if not 0 < arrivals.rate < float("inf") or arrivals.seed < 0:
        raise UsageError(f"--arrivals: rate {arrivals.rate} with seed {arrivals.seed}; the rate must be "
                         "above 0 and finite, the seed 0 or more.")
    return batches(_calls(sources, arrivals, log))


ADAPTER: Final = Adapter(
    name="weka",
    description="Claude Code sessions recorded by kv-cache-tester, one JSON file a session",
    suffixes=(".json",),
    read=_read,
    notes=(
        "Sessions start at synthetic Poisson arrivals: what depends on how sessions overlap (ceilings, "
        "replays) describes that assumption, not a recorded fleet.",
        "Cached tokens are derived from block prefixes under an infinite cache per session and model: an "
        "upper bound on what a server found.",
        "Subagents are sessions of their own; their calls open no user turn.",
    ),
    whole_sessions=True,
    needs_arrivals=True,
    derived={
        "t_us": "declared Poisson arrival of the session + seconds from its start",
        "cached_tokens": "longest block prefix of an earlier call of the file and model (infinite cache)",
        "user_initiated": "the new input is text without a tool result; subagents never",
    },
)
