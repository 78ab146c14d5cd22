"""Claude Code project logs (`~/.claude/projects/**/*.jsonl`): a line a message, no call log.

A call is what one message id names. `assistant` lines are read as records of calls, one row each;
the engine's rule for equal call ids (largest output, then the last) leaves one. All other line
types (user, system, summary, attachments) are no records of calls: they give the turns.

* One response is logged on several lines, one a content block, with its usage repeated or, while
  it streams, with few output tokens at first. Hence the rule above, by `message.id`; by
  `requestId` only where the message id is missing. Lines with neither are never merged.
* Resume and fork copy the history, timestamps kept, into a new file under a new session id. Its
  calls stay with their first owner: what `forkedFrom` names, else the session in which the
  message is logged earliest; among equals a main session before a subagent's, then the session
  whose log ends first (a copy goes on after its original ended), then the first in the input.
  File names are random, so the order of files says nothing, and the owner of a message is known
  only once all files were read: they are read twice.
* The start of a call is not logged. Its time is that of its earliest line, the end of the first
  content block: late by the time to the first block, as is its predecessor's.
* Anthropic's input_tokens excludes the cache: context = input + cache creation + cache read.

What grows with the input: one entry a message id. What grows with a file: one entry a line.
The format is internal to Claude Code and changes; keys as of versions 1.0 to 2.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import pyarrow as pa

from telemetry.adapter import Adapter, DefectLog, ReadOptions, Source
from telemetry.batching import (
    Call,
    Record,
    batches,
    count_of,
    lines,
    parse_json,
    settle,
    text,
)
from telemetry.errors import InputError
from telemetry.schema import MAX_TOKENS

__all__ = ["ADAPTER"]


class _Node(NamedTuple):
    """What a line tells the lines below it in the parentUuid chain."""

    root: str | None  # the sidechain it belongs to
    opens: bool | None  # would a call that follows open a turn?
    call_id: str | None = None  # of an assistant line ...
    opened: bool | None = None  # ... and whether that call opened a turn


_UNKNOWN: Final = _Node(None, None)


class _Session(NamedTuple):
    name: str
    parent: str | None


class _Owners:
    """Which session a message belongs to, and when it was first logged."""

    def __init__(self) -> None:
        self._index: dict[_Session, int] = {}
        self._sessions: list[_Session] = []
        self._last_us: list[int] = []
        self._first: dict[str, tuple[int, int]] = {}  # message -> its earliest time, session
        self._rivals: dict[str, set[int]] = {}  # further sessions with that time: copies

    def see(self, call_id: str, t_us: int, session: _Session) -> None:
        """A line of a message, seen in a session."""
        number = self._index.setdefault(session, len(self._sessions))
        if number == len(self._sessions):
            self._sessions.append(session)
            self._last_us.append(t_us)
        self._last_us[number] = max(self._last_us[number], t_us)
        best = self._first.get(call_id)
        if best is None or t_us < best[0]:
            self._first[call_id] = t_us, number
            self._rivals.pop(call_id, None)
        elif t_us == best[0] and number != best[1]:
            self._rivals.setdefault(call_id, {best[1]}).add(number)

    def of(self, call_id: str) -> tuple[int, _Session] | None:
        """Earliest time of a message and the session that keeps it."""
        best = self._first.get(call_id)
        if best is None:
            return None
        number = min(self._rivals.get(call_id, {best[1]}), key=lambda n: (
            self._sessions[n].parent is not None, self._last_us[n], n))
        return best[0], self._sessions[number]


def _records(source: Source) -> Iterator[Record]:
    """Rows of the assistant lines and unreadable lines of one file; `source_row` is the line."""
    nodes: dict[str, _Node] = {}
    try:
        with source.open() as stream:
            for number, raw in lines(stream):
                record = _line(source, raw, nodes)
                if record is not None:
                    record.call["source_rank"], record.call["source_row"] = source.rank, number
                    yield record
    except OSError as error:
        raise InputError(f"{source.name}: cannot be read ({error.strerror}). Check that it exists and may be "
                         "read.") from None


def _line(source: Source, raw: bytes | None, nodes: dict[str, _Node]) -> Record | None:
    try:
        line = None if raw is None else parse_json(raw)
    except ValueError:
        line = None
    if not isinstance(line, dict):
        shown = "a line that is too long" if raw is None else raw[:60].decode("utf-8", "replace")
        return Record(source, Call(), None, ("unreadable", "line", shown))
    uuid = text(line.get("uuid"))
    above = nodes.get(text(line.get("parentUuid")) or "", _UNKNOWN)
    root = None
    if line.get("isSidechain") is True:
        root = text(line.get("agentId")) or above.root or uuid or "sidechain"
    record = None
    if line.get("type") == "assistant":
        record, node = _assistant(source, line, above, root)
    else:
        node = _Node(root, _human(line), None) if line.get("type") == "user" else above._replace(root=root)
        if node.opens is None:  # says nothing about turns: the chain goes through it
            node = above._replace(root=root)
    if uuid is not None:
        nodes[uuid] = node
    return record


def _human(line: Mapping[str, Any]) -> bool | None:
    """Did a person speak on this user line? Null for lines that only accompany another one."""
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        if any(isinstance(part, dict) and part.get("type") == "tool_result" for part in content):
            return False
    elif not isinstance(content, str):
        return None
    origin = line.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else None
    if line.get("isCompactSummary") is True or kind not in (None, "human"):
        return False
    return None if line.get("isMeta") is True else True


def _assistant(source: Source, line: Mapping[str, Any], above: _Node, root: str | None
               ) -> tuple[Record, _Node]:
    message = line.get("message")
    if not isinstance(message, dict):
        return Record(source, Call(), None, ("unreadable", "message", message)), above._replace(root=root)
    call_id = text(message.get("id")) or text(line.get("requestId"))
    session = _session(line, root)
    opens = above.opens
    if call_id is not None and call_id == above.call_id:
        opens = above.opened  # a further line of the same response
    row = Call(
        session_id=session.name if session else None, parent_session_id=session.parent if session else None,
        call_id=call_id, model=text(message.get("model")), user_initiated=False if root else opens,
        failed=line.get("isApiErrorMessage") is True)
    problem = _tokens(row, message.get("usage"))
    if row["model"] == "<synthetic>" or (problem and problem[0] == "synthetic"):
        # Nothing was asked of the model, so the turn is still to be opened.
        problem, node = ("synthetic", "model", row["model"]), above._replace(root=root)
    else:
        node = _Node(root, False, call_id, opens)
    return Record(source, row, line.get("timestamp"), problem), node


def _session(line: Mapping[str, Any], root: str | None) -> _Session | None:
    """The session of a line; a subagent's lines carry the session id of their parent."""
    fork = line.get("forkedFrom")
    name = text(fork.get("sessionId")) if isinstance(fork, dict) else None
    name = name or text(line.get("sessionId"))
    if root is not None:
        return _Session(f"{name}/{root}" if name else root, name)
    return _Session(name, None) if name else None


def _tokens(row: Call, usage: object) -> tuple[str, str, object] | None:
    """Fill in the token counts of a row; what is wrong with them, if anything."""
    if not isinstance(usage, dict):
        return ("synthetic" if row["failed"] else "bad_tokens"), "usage", usage
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    counts = [count_of(usage.get(name)) for name in names]
    for name, count in zip(names, counts, strict=True):
        if count is None and (name == "input_tokens" or usage.get(name) is not None):
            return "bad_tokens", name, usage.get(name)
    fresh, created, read, output = counts
    context = (fresh or 0) + (created or 0) + (read or 0)
    if context > MAX_TOKENS:
        return "bad_tokens", "usage", usage
    if context == 0 and not output:
        return "synthetic", "usage", usage  # a call carries at least the system prompt
    row["context_tokens"], row["cached_tokens"], row["output_tokens"] = context, read, output
    return None


def _calls(sources: list[Source], options: ReadOptions, log: DefectLog) -> Iterator[Call]:
    owners = _Owners()
    recognised = 0
    quiet = DefectLog()  # the first reading only looks for owners; the second one reports
    firsts = (record for source in sources if source.repeats is None for record in _records(source))
    for record in settle(firsts, options.timestamp, quiet):
        call = record.call
        recognised += record.problem is None or record.problem[0] != "unreadable"
        t_us, call_id, name = call.get("t_us"), call.get("call_id"), call.get("session_id")
        if call.get("defect") is None and t_us is not None and call_id and name:
            owners.see(call_id, t_us, _Session(name, call.get("parent_session_id")))
    if sources and not recognised:
        raise InputError(f"{sources[0].name}: no model call was recognised in {len(sources)} file(s). Calls "
                         "are lines with \"type\": \"assistant\". Check --format.")
    everything = (record for source in sources for record in _records(source))
    for record in settle(everything, options.timestamp, log):
        call = record.call
        if call.get("defect") is None:
            owner = owners.of(call.get("call_id") or "")
            if owner is not None:
                call["t_us"], (call["session_id"], call["parent_session_id"]) = owner
            if record.source.repeats is not None:
                call["defect"] = "duplicate"
        yield call


def _read(sources: list[Source], options: ReadOptions, log: DefectLog) -> Iterator[pa.RecordBatch]:
    return batches(_calls(sources, options, log))


ADAPTER: Final = Adapter(
    name="claude-code",
    description="Claude Code project logs, one line a message",
    suffixes=(".jsonl",),
    read=_read,
    repeats_calls=True,
    notes=(
        "Rows are assistant lines: one response is logged on several, so many rows are duplicates.",
        "A call's time is that of its first logged line: late by the time to the first block.",
        "A resumed or forked conversation copies its history; copied calls stay with their first session.",
        "Subagents are sessions of their own; their calls open no user turn.",
        "output_tokens is what the log holds; where only partial streams were logged it is too low.",
    ),
    derived={
        "context_tokens": "input_tokens + cache_creation_input_tokens + cache_read_input_tokens",
        "t_us": "earliest logged line of the message",
        "user_initiated": "the line that the response answers is a person's text; subagents never",
        "parent_session_id": "the session id that a subagent's lines carry",
    },
)
