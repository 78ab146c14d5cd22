"""The calls of whole sessions of a call log, and which sessions a sample has."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from metrics.core.trace import Trace
from pipelines.streams import tell
from replay.tier.workload import Call

__all__ = ["calls_of", "hashed_sessions", "known_sessions", "tell_unsessioned"]

_CALLS = """
    select s.session as session, s.t_us as t_us, s.x as x, s.o as o, s.duration_us as duration_us, s.c as c
    from steps s join chosen_sessions d on s.session = d.session order by s.session, s.call_index"""
_WITH_PREFIXES = """
    select s.session as session, s.t_us as t_us, s.x as x, s.o as o, s.duration_us as duration_us, s.c as c,
           calls.prefix_keys as prefix_keys, calls.block_size as block_size
    from steps s join chosen_sessions d on s.session = d.session join calls on s.pos = calls.pos
    order by s.session, s.call_index"""
# As the samples of replays: a larger sample of one seed has all of a smaller one.
_HASHED = """
    select ids.session as session from {ids} as ids
    join (select session from steps where x > 0 group by session) as used on ids.session = used.session
    order by md5(concat('{seed}', ':', ids.session_id)), ids.session_id limit {count}"""


def tell_unsessioned(trace: Trace) -> None:
    """Say on stderr how many calls have no session."""
    total, sessioned = (trace.row(f"select count(*) as n from {table}")["n"] for table in ("calls", "steps"))
    if sessioned < total:
        tell(f"{total - sessioned:,} of {total:,} calls have no session id and are left out.")


def known_sessions(trace: Trace) -> list[int]:
    """Sessions with a call that has a context, in the order of their numbers."""
    return [int(row["session"]) for row in trace.rows(
        "select session from steps where x > 0 group by session order by session")]


def hashed_sessions(trace: Trace, seed: int, count: int) -> list[int]:
    """The first `count` of these sessions in the order of md5(seed ':' session id)."""
    return [int(row["session"]) for row in trace.rows(
        _HASHED.format(ids=trace.session_ids, seed=seed, count=count))]


def calls_of(trace: Trace, sessions: Sequence[int], *, prefixes: bool = False) -> dict[int, list[Call]]:
    """The calls of some sessions, in the order of time; with `prefixes`, block hashes as well."""
    trace.engine.put("chosen_sessions", pa.table({"session": pa.array(sessions, pa.int64())}))
    found: dict[int, list[Call]] = {session: [] for session in sessions}
    for row in trace.rows(_WITH_PREFIXES if prefixes else _CALLS):
        keys = row.get("prefix_keys")
        found[row["session"]].append(Call(row["t_us"], row["x"], row["o"], row["duration_us"], row["c"],
                                          None if keys is None else tuple(keys), row.get("block_size")))
    return found
