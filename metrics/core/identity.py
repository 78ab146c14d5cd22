"""Sessions as integers: their ids cost a sort twice as much, and no identifier goes further."""

from __future__ import annotations

from dataclasses import dataclass

from metrics.core.engine import Engine

__all__ = ["Identity", "identify_sessions"]

_OF_ROWS = "(select session_id from usable where session_id is not null)"
_NUMBERS = "session_numbers"
_DISTINCT = "select distinct session_id from {relation} as session_ids_again"
_SHARED = """
    select count(*) as n from (
        select {hash} as h from ({distinct}) as ids group by {hash} having count(*) > 1) as shared"""


@dataclass(frozen=True)
class Identity:
    """How sessions are written in SQL.

    Attributes
    ----------
    key : str
        The integer of a session, as an expression over `known(relation)`.
    ids : str
        A relation of sessions, each of `usable` among them: `session_id`, and its integer `session`.
    """

    key: str
    ids: str

    def known(self, relation: str) -> str:
        """A relation with a `session_id`, in which `key` can be written."""
        if self.ids != _NUMBERS:
            return relation
        return f"{relation} join {_NUMBERS} on {relation}.session_id = {_NUMBERS}.session_id"


def identify_sessions(engine: Engine, known: str | None = None) -> Identity:
    """An integer for each session id of `usable`, the same for equal ids and another for others.

    An engine that would shuffle every row for a number takes the hash of the id, if no two ids share one.

    Parameters
    ----------
    known : str, optional
        A relation with every `session_id` of `usable`, perhaps more than once, and perhaps with others.
    """
    distinct, hashed = _DISTINCT.format(relation=known or _OF_ROWS), engine.dialect.hash64("session_id")
    if engine.dialect.hash_names_session and not engine.row(_SHARED.format(hash=hashed, distinct=distinct))["n"]:
        return Identity(hashed, f"(select session_id, {hashed} as session from ({distinct}) as distinct_ids)")
    engine.number(_NUMBERS, distinct, "session")
    return Identity(f"{_NUMBERS}.session", _NUMBERS)
