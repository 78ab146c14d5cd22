"""From an adapter's batches to one table of raw calls, with the duplicates found.

`raw` has the columns of the canonical schema and `pos`, which orders the input: source_rank and
source_row in one integer. What is unusable stays in it, marked, so that the audit can account for
every row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from metrics.core.classes import ClassRule, classify
from metrics.core.engine import Engine, scratch
from telemetry.errors import InputError
from telemetry.schema import CALL_SCHEMA

__all__ = ["ROWS_PER_FILE", "Ingested", "ingest"]

#: pos = source_rank * ROWS_PER_FILE + source_row; 8 M files of 10^12 rows fit 63 bits.
ROWS_PER_FILE = 1 << 40

#: More names than that are no names; their numbers fit 20 bits.
MAX_MODELS = (1 << 20) - 2

_STORED = [name for name in CALL_SCHEMA.names if name not in ("source_rank", "source_row")]

# The largest output of a call id stays, then the last in input order (DEFINITIONS 1). Hashes only
# find the candidates, so that a unique id costs 8 bytes; equality is tested on the ids themselves.
_SUSPECTS = """
    select {hash} as h from raw where call_id is not null and defect is null
    group by {hash} having count(*) > 1"""
_REPEATS = """
    select pos from (
        select raw.pos as pos, row_number() over (
            partition by raw.call_id order by coalesce(raw.output_tokens, -1) desc, raw.pos desc) as place
        from raw join suspects on {hash} = suspects.h
        where raw.call_id is not null and raw.defect is null
    ) as ranked where place > 1"""


@dataclass(frozen=True)
class Ingested:
    """What came in.

    Attributes
    ----------
    rows : int
        Every record of the input.
    usable : int
        Records without a defect that repeat no other.
    defects : dict
        Reason -> records, of the reasons that adapters find, and `duplicate`.
    first_us, last_us : int
        First and last start of a usable call.
    """

    rows: int
    usable: int
    defects: dict[str, int]
    first_us: int
    last_us: int


def ingest(engine: Engine, batches: Iterable[pa.RecordBatch], rules: Sequence[ClassRule], *,
           event_log: bool = False) -> Ingested:
    """Load `raw`, its view `usable`, and the tables `session_numbers`, `models` and `places`.

    Raises
    ------
    InputError
        When nothing in the input can be used.
    """
    columns = f"cast(source_rank as bigint) * {ROWS_PER_FILE} + source_row as pos, {', '.join(_STORED)}"
    engine.load("raw", CALL_SCHEMA, batches, columns)
    counts = engine.rows("select defect, count(*) as n from raw group by defect")
    defects = {row["defect"]: row["n"] for row in counts if row["defect"] is not None}
    rows = sum(row["n"] for row in counts)
    repeats = _drop_repeats(engine)
    if event_log:
        repeats += _drop_equal_events(engine)
    if repeats:
        defects["duplicate"] = defects.get("duplicate", 0) + repeats
    span = engine.row("select count(*) as n, min(t_us) as first_us, max(t_us) as last_us from usable")
    if not span["n"]:
        raise InputError(_nothing(rows, defects))
    engine.number("session_numbers", "select distinct session_id from usable where session_id is not null", "session")
    _models(engine, rules)
    _places(engine)
    return Ingested(rows, span["n"], defects, span["first_us"], span["last_us"])


def _nothing(rows: int, defects: dict[str, int]) -> str:
    if not rows:
        return "nothing was recognised in the input: it holds no record of this format. Check --format and the path."
    kinds = ", ".join(f"{n} {reason}" for reason, n in sorted(defects.items()))
    return (f"no record of the input can be used ({rows} read: {kinds}). Check --format, the column names and "
            "the timestamp unit in --config.")


def _drop_repeats(engine: Engine) -> int:
    """Mark all but one record of each call id; returns how many."""
    engine.view("usable", "select * from raw where defect is null")
    if not engine.row("select count(call_id) as n from raw")["n"]:
        return 0
    hashed = engine.dialect.hash64("raw.call_id")
    with scratch(engine, "suspects", _SUSPECTS.format(hash=hashed)):
        engine.create("repeats", _REPEATS.format(hash=hashed))
    repeats: int = engine.row("select count(*) as n from repeats")["n"]
    if repeats:
        engine.view("usable", "select * from raw where defect is null and not exists "
                    "(select 1 from repeats where repeats.pos = raw.pos)")
    return repeats


def _drop_equal_events(engine: Engine) -> int:
    """For event logs: of records equal in every column only the last stays."""
    same = ", ".join(name for name in _STORED if name != "defect")
    engine.create(
        "echoes",
        f"select pos from (select pos, row_number() over (partition by {same} order by pos desc) as place "
        "from usable) as ranked where place > 1",
    )
    echoes: int = engine.row("select count(*) as n from echoes")["n"]
    if echoes:
        engine.create("kept_events",
                      "select * from usable where not exists (select 1 from echoes where echoes.pos = usable.pos)")
        engine.view("usable", "select * from kept_events")
    return echoes


def _models(engine: Engine, rules: Sequence[ClassRule]) -> None:
    """`models`: one row a model name, numbered in order of the names; no name is number 0."""
    names = sorted(row["model"] for row in engine.rows(
        "select distinct model from usable where model is not null"))
    numbered: list[tuple[int, str | None]] = [(0, None), *enumerate(names, start=1)]
    _limit(len(names), MAX_MODELS, "model names")
    classes = [classify(name, rules) for _, name in numbered]
    _dimension(engine, "models", pa.table({
        "model_no": pa.array([number for number, _ in numbered], pa.int32()),
        "model": pa.array([name for _, name in numbered], pa.string()),
        "conservative": [row["conservative"] for row in classes],
        "broad": [row["broad"] for row in classes],
    }))


def _places(engine: Engine) -> None:
    """`places`: one row a (region, deployment) seen; the numbers are null where it is unknown.

    A deployment is known by its region and its name. Where the whole trace names no region, the
    name alone is the identity, as in a fleet of one region.
    """
    seen = engine.rows("select distinct region, deployment from usable")
    regions = {name: number for number, name in enumerate(
        sorted({row["region"] for row in seen if row["region"] is not None}), start=1)}
    pairs = sorted({(row["region"] or "", row["deployment"]) for row in seen
                    if row["deployment"] is not None and (row["region"] is not None or not regions)})
    _limit(max(len(regions), len(pairs)), MAX_MODELS, "regions or deployments")
    places = {pair: number for number, pair in enumerate(pairs, start=1)}
    lone_region = None if regions else 0
    _dimension(engine, "places", pa.table({
        "region": pa.array([row["region"] for row in seen], pa.string()),
        "deployment": pa.array([row["deployment"] for row in seen], pa.string()),
        "region_no": pa.array([regions.get(row["region"], lone_region) for row in seen], pa.int32()),
        "place_no": pa.array([places.get((row["region"] or "", row["deployment"])) if
                              row["region"] is not None or not regions else None for row in seen], pa.int32()),
    }))


def _limit(count: int, most: int, what: str) -> None:
    if count > most:
        raise InputError(f"the input has {count:,} distinct {what}, more than {most:,}; this looks like an identifier "
                         "of each call. Map the right column under [columns] in --config.")


def _dimension(engine: Engine, name: str, table: pa.Table) -> None:
    engine.load(name, table.schema, table.to_batches())
