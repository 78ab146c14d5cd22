"""GitHub Copilot coding agents (Azure public dataset 2026): nested JSON lines, a session a line.

A record is `{session_id, date, turns: [{turn_id, llm_calls: [...], tool_batches: [...]}]}`; every
element of `llm_calls` is a call. It comes as lines of JSON, plain or gzipped, or as archives
(.tar, .tar.gz, .tgz) of such files. Everything is streamed; the names of an archive's members are
looked at for their ending only, never used as paths, so a hostile one does no harm.

Written from the published schema (Azure/AzurePublicDataset, analysis/GitHubCopilotCodingAgents,
commit 5a79a2c3); the data itself was not at hand.
"""

from __future__ import annotations

import gzip
import tarfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Any, Final, cast

import pyarrow as pa

from telemetry.adapter import Adapter, DefectLog, ReadOptions, Source, whole
from telemetry.batching import (
    Call,
    Record,
    batches,
    count_of,
    lines,
    microseconds_of,
    parse_json,
    settle,
    text,
)
from telemetry.errors import InputError, shorten

__all__ = ["ADAPTER"]

_ARCHIVES: Final = (".tar", ".tar.gz", ".tgz")
_MEMBERS: Final = (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".ndjson.gz")
_GZIP_MAGIC: Final = b"\x1f\x8b"


@contextmanager
def _explained(source: Source) -> Iterator[None]:
    """What a damaged file raises, as an error the user can act on."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile, tarfile.TarError) as error:
        raise InputError(f"{source.name}: damaged or cut short ({shorten(str(error), 120)}). Copy it again, "
                         "or leave it out.") from None
    except OSError as error:
        why = error.strerror or shorten(str(error), 120)
        raise InputError(f"{source.name}: cannot be read ({why}). Check that it exists and may be read."
                         ) from None


def _unzipped(stream: IO[bytes]) -> IO[bytes]:
    """The stream itself or what it holds compressed, told by its first two bytes."""
    head = stream.peek(2)[:2] if hasattr(stream, "peek") else b""
    return cast("IO[bytes]", gzip.GzipFile(fileobj=stream)) if head == _GZIP_MAGIC else stream


def _streams(source: Source) -> Iterator[IO[bytes]]:
    """The files of JSON lines that a source holds, one open at a time."""
    with source.open() as plain:
        if not source.path.name.lower().endswith(_ARCHIVES):
            yield _unzipped(plain)
            return
        # "r|*" reads forwards only: no member is ever kept or written anywhere.
        with tarfile.open(fileobj=plain, mode="r|*") as archive:
            for member in archive:
                base = member.name.rsplit("/", 1)[-1].lower()
                # "._x" is what macOS adds beside a file x.
                if member.isreg() and base.endswith(_MEMBERS) and not base.startswith("._"):
                    inner = archive.extractfile(member)
                    if inner is not None:
                        yield _unzipped(inner)


class _Reader:
    """Calls of a file; remembers whether anything was recognised as one."""

    def __init__(self, log: DefectLog) -> None:
        self.log = log
        self.recognised = 0

    def records(self, source: Source) -> Iterator[Record]:
        row = 0
        with _explained(source):
            for stream in _streams(source):
                for _, line in lines(stream):
                    for record in self.session(source, line):
                        row += 1
                        record.call["source_row"] = row
                        yield record

    def session(self, source: Source, line: bytes | None) -> Iterator[Record]:
        """Calls of one line; what has another shape than expected yields one unreadable row."""
        try:
            session = None if line is None else parse_json(line)
        except ValueError:
            session = None
        if not isinstance(session, dict) or not isinstance(session.get("turns"), list):
            shown = "a line that is too long" if line is None else line[:60].decode("utf-8", "replace")
            yield _unreadable(source, None, "turns", shown)
            return
        name = text(session.get("session_id"))
        for turn in session["turns"]:
            calls = turn.get("llm_calls") if isinstance(turn, dict) else turn
            if calls is None and isinstance(turn, dict):
                continue  # cancelled before its first call
            if not isinstance(calls, list):
                yield _unreadable(source, name, "llm_calls", turn)
                continue
            for call in calls:
                if isinstance(call, dict):
                    self.recognised += 1
                    record = _record(source, name, text(turn.get("turn_id")), call)
                    if call.get("duration_ms") is not None and record.call["duration_us"] is None:
                        self.log.flag("bad_optional")
                    yield record
                else:
                    yield _unreadable(source, name, "llm_calls", call)


def _unreadable(source: Source, session: str | None, column: str, value: object) -> Record:
    return Record(source, Call(source_rank=source.rank, session_id=session), None,
                  ("unreadable", column, value))


def _record(source: Source, session: str | None, turn: str | None, call: Mapping[str, Any]) -> Record:
    given = call.get("tokens")
    tokens: Mapping[str, Any] = given if isinstance(given, dict) else {}
    counts = {name: count_of(tokens.get(name)) for name in ("prompt", "completion", "cached")}
    # The prompt is needed; the other two may be left out, but not be wrong.
    wrong = [name for name, count in counts.items()
             if count is None and (name == "prompt" or tokens.get(name) is not None)]
    initiator = call.get("initiator_type")
    row = Call(
        source_rank=source.rank, session_id=session, call_id=text(call.get("message_id")), turn_id=turn,
        context_tokens=counts["prompt"], output_tokens=counts["completion"], cached_tokens=counts["cached"],
        model=text(call.get("model")), failed=_failed(call),
        duration_us=microseconds_of(call.get("duration_ms"), 1_000),
        user_initiated=initiator == "user" if isinstance(initiator, str) else None)
    problem = ("bad_tokens", f"tokens.{wrong[0]}", tokens.get(wrong[0])) if wrong else None
    return Record(source, row, call.get("timestamp"), problem)


def _failed(call: Mapping[str, Any]) -> bool | None:
    """True unless every outcome that is reported is the good one; null when none is."""
    outcomes = [(call.get("result"), "success"), (call.get("status_code"), "ok")]
    reported = [(value, good) for value, good in outcomes if isinstance(value, str)]
    return any(value.lower() != good for value, good in reported) if reported else None


def _calls(sources: list[Source], options: ReadOptions, log: DefectLog) -> Iterator[Call]:
    for source in sources:  # each file is looked at as if it were the only one
        reader = _Reader(log)
        for record in settle(reader.records(source), options.timestamp, log):
            if source.repeats is not None:
                record.call.setdefault("defect", "duplicate")
            yield record.call
        log.recognised += reader.recognised


def _check(sources: Sequence[Source], options: ReadOptions, log: DefectLog) -> None:
    if sources and not log.recognised:
        raise InputError(f"{sources[0].name}: no model call was recognised in {len(sources)} file(s). A line "
                         "must hold one session with turns[].llm_calls[]. Check --format.")


def _read(sources: list[Source], options: ReadOptions, log: DefectLog) -> Iterator[pa.RecordBatch]:
    return batches(_calls(sources, options, log))


ADAPTER: Final = Adapter(
    name="copilot",
    description="GitHub Copilot coding agents (Azure public dataset 2026), JSON lines or archives of them",
    suffixes=(".jsonl", ".json", ".ndjson", ".gz", ".tgz", ".tar"),
    read=_read,
    check=_check,
    pieces=whole,
    notes=(
        "Schema only, not verified on the data: the adapter follows the published schema; no record of the "
        "released data was at hand.",
        "tokens.prompt is taken to include tokens.cached.",
        "A call is counted as failed when its result is not Success or its status_code not OK; a cancel by "
        "the user is among them.",
    ),
)
