"""The audit: every input row is used, or excluded for a stated reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from metrics.core.engine import scratch
from metrics.core.event_log import EventLog
from metrics.core.ingest import Ingested
from metrics.core.metric import Finding, Findings, Number
from metrics.core.trace import Trace
from telemetry.adapter import DefectLog
from telemetry.schema import CALLS, EVENTS, Rows

__all__ = ["Audit", "audit", "audit_events", "audit_numbers"]

#: Flags that are counted while the input is read, before there is a window.
_OF_INPUT = ("clock_reversal", "bad_optional")


def audit_numbers(rows: Rows) -> tuple[Number, ...]:
    """What an audit of such rows publishes."""
    return (
        Number("audit.rows_read", "rows", "records of the input"),
        Number("audit.rows_used", "rows", f"records that became {rows.name} of the window"),
        *(Number(f"audit.rows_excluded.{reason}", "rows", meaning) for reason, meaning in rows.defects.items()),
        *(Number(f"audit.flags.{flag}", "rows", meaning, None if flag in _OF_INPUT else f"{rows.name} of the window")
          for flag, meaning in rows.flags.items()),
    )


@dataclass(frozen=True)
class Audit:
    """What became of each row of the input, for one window.

    `examples` are places only (file number, row, column), since values can hold identifiers.
    `flags` count used rows of the window, but for those of `_OF_INPUT`, which the adapter counts over the whole
    input.
    """

    read: int
    used: int
    excluded: dict[str, int]
    flags: dict[str, int]
    examples: dict[str, list[str]]
    files: int
    rows: Rows = CALLS

    def findings(self) -> Findings:
        """The audit as published numbers."""
        values = {"audit.rows_read": self.read, "audit.rows_used": self.used}
        values |= {f"audit.rows_excluded.{reason}": n for reason, n in self.excluded.items()}
        values |= {f"audit.flags.{flag}": n for flag, n in self.flags.items()}
        used = {f"audit.flags.{flag}" for flag in self.flags if flag not in _OF_INPUT}
        return Findings({key: Finding(value, self.used if key in used else self.read) for key, value in values.items()})

    def as_json(self) -> dict[str, Any]:
        """The content of audit.json."""
        return {
            "rows_read": self.read, "rows_used": self.used, "rows_excluded": self.excluded, "flags": self.flags,
            "examples": self.examples, "reasons": dict(self.rows.defects),
            "flag_meanings": dict(self.rows.flags), "files": self.files,
        }


# Rows that are equal in every column tie in time and session, or in time and context; only ties need a second look.
_TIES = "select distinct session, t_us from steps where gap_us = 0"
_TIED = "select pos from steps join ties on steps.session = ties.session and steps.t_us = ties.t_us"
_SESSIONED = "select usable.* from usable join tied on usable.pos = tied.pos where call_id is null"
_REPEATED = """
    select coalesce(cast(sum(n - 1) as bigint), 0) as n from (
        select count(*) as n from ({relation}) as r group by {same}) as groups"""
_APART = "session_id is null and call_id is null"
_TIES_APART = """
    select t_us, context_tokens from usable where {apart} and {inside}
    group by t_us, context_tokens having count(*) > 1"""
_UNSESSIONED = f"""
    select usable.* from usable join ties
    on usable.t_us = ties.t_us and usable.context_tokens = ties.context_tokens where {_APART}"""


def audit(trace: Trace, ingested: Ingested, log: DefectLog, files: int) -> Audit:
    """Account for every row of a trace; an identity that does not hold is our fault and stops the run."""
    profile = trace.profile
    return _account(CALLS, ingested, log, files, profile.calls, {
        "cached_exceeds_context": profile.clipped,
        "unsessioned": profile.calls - profile.sessioned,
        "out_of_order": trace.row("select count(*) as n from steps where misplaced")["n"],
        "failed": profile.failed,
        "zero_context": profile.zero_context,
        "duplicate_suspected": _suspected(trace),
    })


def audit_events(events: EventLog, ingested: Ingested, log: DefectLog, files: int) -> Audit:
    """The same for an event log, whose equal rows are no suspects but duplicates."""
    profile = events.profile
    return _account(EVENTS, ingested, log, files, profile.events, {
        "cached_exceeds_context": profile.clipped,
        "unsessioned": profile.events - profile.sessioned,
        "out_of_order": events.row("select count(*) as n from event_steps where misplaced")["n"],
        "counter_fell": events.row("select cast(coalesce(sum(falls), 0) as bigint) as n from event_sessions")["n"],
    })


def _account(rows: Rows, ingested: Ingested, log: DefectLog, files: int, used: int, flags: dict[str, int]) -> Audit:
    excluded = {reason: ingested.defects.get(reason, 0) for reason in rows.defects}
    excluded["outside_window"] = ingested.usable - used
    if ingested.rows != used + sum(excluded.values()):
        raise RuntimeError(f"the audit does not add up: {ingested.rows} read, {used} used, {excluded}")
    counted = flags | {flag: log.flags.get(flag, 0) for flag in _OF_INPUT if flag in rows.flags}
    ordered = {flag: counted[flag] for flag in rows.flags}
    return Audit(ingested.rows, used, excluded, ordered, dict(sorted(log.places.items())), files, rows)


def _suspected(trace: Trace) -> int:
    """Rows without a call id that repeat an earlier one in every column, sessioned or not."""
    same = ("session_id, t_us, context_tokens, cached_tokens, output_tokens, model_no, turn_id, user_initiated, "
            "region_no, deployment_no, duration_us, parent_session_id, failed, block_size, prefix_keys")
    suspected = 0
    if trace.profile.sessioned:
        with scratch(trace.engine, "ties", _TIES):
            if trace.row("select count(*) as n from ties")["n"]:
                with scratch(trace.engine, "tied", _TIED):
                    suspected += trace.row(_REPEATED.format(relation=_SESSIONED, same=same))["n"]
    if trace.profile.sessioned < trace.profile.calls:
        inside = trace.window.condition()
        with scratch(trace.engine, "ties", _TIES_APART.format(apart=_APART, inside=inside)):
            if trace.row("select count(*) as n from ties")["n"]:
                suspected += trace.row(_REPEATED.format(relation=_UNSESSIONED, same=same))["n"]
    return suspected
