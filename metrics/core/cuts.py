"""Sessions that a window cuts: those with rows beyond its edges, proven or not to be ruled out."""

from __future__ import annotations

from metrics.core.log import Log
from metrics.core.metric import Findings, Number

__all__ = ["cut_numbers", "find_cuts"]

_OUTSIDE = """
    select count(*) as n from (
        select distinct session_id from usable where session_id is not null and {side}) as outside
    where session_id in (select session_id from {relation} where session_id is not null)"""
_REACH = "select min(t_us) as first_us, max(t_us) as last_us from usable"
_CUT = ("sessions with {rows} beyond the window's {edge}; where the input does not reach beyond it, no session can "
        "be ruled out and all are counted (lo: proven by the input), unless the source holds whole sessions")


def cut_numbers(subject: str, rows: str) -> tuple[Number, ...]:
    """What `find_cuts` publishes."""
    return tuple(Number(f"{subject}.sessions_cut_{side}", "sessions", _CUT.format(rows=rows, edge=edge))
                 for side, edge in (("left", "start"), ("right", "end")))


def find_cuts(log: Log, found: Findings, subject: str, sessions: int) -> None:
    """A session is cut where rows of it lie outside, or where the input ends with the window."""
    window = log.window
    reach = log.row(_REACH) if window.bounded else {"first_us": 0, "last_us": 0}
    sides = {
        "left": (window.start_us is not None and reach["first_us"] < window.start_us, f"t_us < {window.start_us}"),
        "right": (window.end_us is not None and reach["last_us"] >= window.end_us, f"t_us >= {window.end_us}"),
    }
    for name, (seen, side) in sides.items():
        proven = log.row(_OUTSIDE.format(side=side, relation=log.relation))["n"] if seen else 0
        possible = proven if seen or log.settings.whole_sessions else sessions
        found.set(f"{subject}.sessions_cut_{name}", possible, sessions, low=proven, high=possible)
