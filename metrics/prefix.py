"""How much of each context an earlier call already carried, block by block (Tenure 1 and 2)."""

from __future__ import annotations

from metrics.core.engine import scratch
from metrics.core.metric import Findings, Metric, Number, ratio
from metrics.core.quantile import quantiles
from metrics.core.trace import Trace

_CARRIED = """
    select steps.session as session, steps.call_index as call_index, steps.t_us as t_us, steps.pos as pos, steps.x as x,
           calls.prefix_keys as prefix_keys, calls.block_size as block_size, {full} as full_blocks
    from steps join calls on steps.pos = calls.pos
    where calls.block_size is not null and calls.prefix_keys is not null"""
# A chained key names a whole prefix, so two calls that agree on a key agree on all blocks up to it.
_APPENDED = """
    select count(*) as pairs, count(case when previous_full = 0 or {there} = previous_key then 1 end) as appended
    from (
        select prefix_keys, lag(call_index) over w as previous_index, call_index,
               lag(full_blocks) over w as previous_full, lag({last}) over w as previous_key
        from carried window w as (partition by session order by call_index)
    ) as pairs where previous_index = call_index - 1"""
# For the same reason the blocks of a call that an earlier call carried are its longest shared prefix.
_SEEN = """
    select session, call_index, cast(sum(case when call_index > first_index then 1 else 0 end) as bigint) as own,
           cast(sum(case when place > 1 then 1 else 0 end) as bigint) as anywhere
    from (
        select session, call_index, min(call_index) over (partition by session, prefix_key) as first_index,
               row_number() over (partition by prefix_key order by t_us, pos) as place
        from (select session, call_index, t_us, pos, {explode} as prefix_key from carried) as blocks
    ) as placed group by session, call_index"""
_SHARED = """
    select session, x, case when own < x then own else x end as own,
           case when anywhere < x then anywhere else x end as anywhere
    from (
        select carried.session as session, x, coalesce(own, 0) * block_size as own,
               coalesce(anywhere, 0) * block_size as anywhere
        from carried left join seen on carried.session = seen.session and carried.call_index = seen.call_index
    ) as tokens"""
_BY_SESSION = """
    select session, cast(sum(x) as bigint) as x, cast(sum(own) as bigint) as own from shared
    group by session having sum(x) > sum(own)"""


def compute(trace: Trace, found: Findings) -> None:
    _output(trace, found)
    why = trace.lacks("prefix")
    if why is not None:
        found.missing(why, *_WITH_BLOCKS)
        return
    engine, dialect = trace.engine, trace.engine.dialect
    with scratch(engine, "carried", _CARRIED.format(full=_full_blocks(trace))):
        row = engine.row(_APPENDED.format(last=dialect.element("prefix_keys", "full_blocks"),
                                          there=dialect.element("prefix_keys", "previous_full")))
        found.set("prefix.append_only_fraction", ratio(row["appended"], row["pairs"]), row["pairs"],
                  why="no two consecutive calls have block hashes")
        with (scratch(engine, "seen", _SEEN.format(explode=dialect.explode("prefix_keys"))),
              scratch(engine, "shared", _SHARED)):
            _shared(trace, found)


def _full_blocks(trace: Trace) -> str:
    """Blocks that the context fills: a trailing partial block is no promise about the next call."""
    filled = trace.engine.dialect.div("calls.x", "calls.block_size")
    length = trace.engine.dialect.length("calls.prefix_keys")
    return f"case when {filled} < {length} then {filled} else {length} end"


def _shared(trace: Trace, found: Findings) -> None:
    row = trace.row("select count(*) as n, cast(sum(x) as bigint) as x, cast(sum(own) as bigint) as own, "
                    "cast(sum(anywhere) as bigint) as anywhere from shared")
    empty = "every context with block hashes is empty"
    found.set("prefix.ideal_reuse", ratio(row["own"], row["x"]), row["n"], why=empty)
    found.set("prefix.ideal_reuse_global", ratio(row["anywhere"], row["x"]), row["n"], why=empty)
    found.set("prefix.thrash_tax", ratio(row["x"], row["x"] - row["own"]), row["n"], why=empty)
    tax = trace.engine.dialect.div("x * 1000000", "x - own")
    at = quantiles(trace.engine, f"({_BY_SESSION})", tax, ("0.5", "1")).get(0)
    found.set("prefix.thrash_tax_p50", at["0.5"] / 1e6 if at else None, at.total if at else 0, why=empty)
    found.set("prefix.thrash_tax_max", at["1"] / 1e6 if at else None, at.total if at else 0, why=empty)


def _output(trace: Trace, found: Findings) -> None:
    why = trace.lacks("output")
    if why is not None:
        found.missing(why, "prefix.reads_per_write", "prefix.reads_per_write_medians")
        return
    row = trace.row("select count(*) as n, cast(sum(x) as bigint) as x, cast(sum(o) as bigint) as o "
                    "from steps where o is not null")
    found.set("prefix.reads_per_write", ratio(row["x"], row["o"]), row["n"], why="no call has output")
    medians = [trace.quantiles("(select x, o from steps where o is not null)", column, "0.5") for column in "xo"]
    value = ratio(medians[0]["0.5"], medians[1]["0.5"]) if medians[0] and medians[1] else None
    found.set("prefix.reads_per_write_medians", value, row["n"], why="the median call has no output")


_WITH_BLOCKS = ("prefix.append_only_fraction", "prefix.ideal_reuse", "prefix.ideal_reuse_global",
                "prefix.thrash_tax", "prefix.thrash_tax_p50", "prefix.thrash_tax_max")
_SESSION_TAX = "of sum of context / sum of context not shared with an earlier call, to 10^-6"

METRIC = Metric(
    name="prefix",
    question="How much of each context was already there?",
    population="calls with a session id and block hashes",
    source="Tenure, sections 1 and 2",
    needs=("sessioned",),
    numbers=(
        Number("prefix.append_only_fraction", "share", "consecutive calls in which the earlier call's full blocks are "
               "a prefix of the later one's", "consecutive calls of a session, both with block hashes"),
        Number("prefix.ideal_reuse", "share", "context in the longest block prefix shared with an earlier call of the "
               "session / context"),
        Number("prefix.ideal_reuse_global", "share", "the same, shared with an earlier call of any session"),
        Number("prefix.thrash_tax", "ratio", "sum of context / sum of context not shared with an earlier call of the "
               "session"),
        Number("prefix.thrash_tax_p50", "ratio", f"median over sessions {_SESSION_TAX}", "sessions with block hashes"),
        Number("prefix.thrash_tax_max", "ratio", f"largest over sessions {_SESSION_TAX}", "sessions with block hashes"),
        Number("prefix.reads_per_write", "ratio", "sum of context tokens / sum of output tokens",
               "calls with a session id that report output tokens"),
        Number("prefix.reads_per_write_medians", "ratio", "median context / median output of a call",
               "calls with a session id that report output tokens"),
    ),
    compute=compute,
)
