"""From an input to one table of raw rows, calls or events, with the duplicates found.

What is unusable stays in `raw`, marked, so that the audit can account for every row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metrics.core.classes import ClassRule
from metrics.core.engine import Engine, scratch
from metrics.core.identity import Identity, identify_sessions
from metrics.core.loading import ROWS_PER_FILE, Loaded, stored
from metrics.core.tally import Tally
from telemetry.errors import InputError
from telemetry.schema import CALLS, Rows

__all__ = ["Ingested", "first_repeat", "ingest"]

# The largest output of an id stays, then the last in input order. Hashes only
# find the candidates, so that a unique id costs 8 bytes; equality is tested on the ids themselves.
_SUSPECTS = """
    select {hash} as h from raw where {id} is not null and defect is null
    group by {hash} having count(*) > 1"""
_REPEATS = """
    select pos from (
        select raw.pos as pos, row_number() over (
            partition by raw.{id} order by coalesce(raw.{output}, -1) desc, raw.pos desc) as place
        from raw join suspects on {hash} = suspects.h
        where raw.{id} is not null and raw.defect is null
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
        First and last start of a usable row.
    in_order : bool
        Known to be ordered by time as a whole.
    identity : Identity
        How sessions become integers.
    """

    rows: int
    usable: int
    defects: dict[str, int]
    first_us: int
    last_us: int
    in_order: bool
    identity: Identity


def ingest(engine: Engine, loaded: Loaded, rules: Sequence[ClassRule], rows: Rows = CALLS) -> Ingested:
    """Make of `raw` its view `usable`, and the tables `models`, `regions` and `deployments`.

    Raises
    ------
    InputError
        When nothing in the input can be used.
    """
    tally, defects = loaded.tally, dict(loaded.tally.defects)
    engine.view("usable", "select * from raw where defect is null")
    repeats = _drop_repeats(engine, rows) if tally.ids else 0
    if rows.again:
        repeats += _drop_equal(engine, rows)
    if repeats:
        defects["duplicate"] = defects.get("duplicate", 0) + repeats
        tally = Tally.of(engine, "usable", rows)
    if tally.first_us is None or tally.last_us is None:
        raise InputError(_nothing(loaded.tally.rows, defects))
    identity = identify_sessions(engine, loaded.sessions)
    loaded.names.publish(engine, rules, tally.used)
    return Ingested(loaded.tally.rows, tally.sound, defects, tally.first_us, tally.last_us, loaded.in_order, identity)


def first_repeat(engine: Engine) -> tuple[int, int]:
    """Rank of the file and number of the record of the first duplicate of the input; there must be one."""
    first = engine.row("select min(pos) as pos from raw where defect = 'duplicate' or (defect is null and not exists "
                       "(select 1 from usable where usable.pos = raw.pos))")
    rank, row = divmod(first["pos"], ROWS_PER_FILE)
    return rank, row


def _nothing(rows: int, defects: dict[str, int]) -> str:
    if not rows:
        return "nothing was recognised in the input: it holds no record of this format. Check --format and the path."
    kinds = ", ".join(f"{n} {reason}" for reason, n in sorted(defects.items()))
    return (f"no record of the input can be used ({rows} read: {kinds}). Check --format, the column names and "
            "the timestamp unit in --config.")


def _drop_repeats(engine: Engine, rows: Rows) -> int:
    """Mark all but one record of each id; returns how many."""
    hashed = engine.dialect.hash64(f"raw.{rows.id}")
    with scratch(engine, "suspects", _SUSPECTS.format(hash=hashed, id=rows.id)):
        engine.create("repeats", _REPEATS.format(hash=hashed, id=rows.id, output=rows.output))
    repeats: int = engine.row("select count(*) as n from repeats")["n"]
    if repeats:
        engine.view("usable", "select * from raw where defect is null and not exists "
                    "(select 1 from repeats where repeats.pos = raw.pos)")
    return repeats


def _drop_equal(engine: Engine, rows: Rows) -> int:
    """Of records equal in every column only the last stays; returns how many do not."""
    same = ", ".join(name for name in stored(rows) if name != "defect")
    engine.create(
        "echoes",
        f"select pos from (select pos, row_number() over (partition by {same} order by pos desc) as place "
        "from usable) as ranked where place > 1",
    )
    echoes: int = engine.row("select count(*) as n from echoes")["n"]
    if echoes:
        engine.create("kept",
                      "select * from usable where not exists (select 1 from echoes where echoes.pos = usable.pos)")
        engine.view("usable", "select * from kept")
    return echoes
