"""Which routes are replayed, how memory is divided among replicas, and how even a route must be."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from telemetry.errors import UsageError, quoted, shorten

__all__ = ["DEFAULT_ROUTING", "DIVISIONS", "ROUTES", "Route", "Routing", "find_routes", "parse_load_limit"]


@dataclass(frozen=True)
class Route:
    """A way to place calls, and what becomes of their KV when a session moves.

    Attributes
    ----------
    name : str
    placement : {"as_logged", "sticky", "sticky_limit"}
        See `replay.residency.routing.placements`.
    copies : int
        Replicas on which a session's KV is kept up to date, those that served it last: with 1 the KV moves along with
        the session. 0: no KV ever moves; each replica keeps what it computed itself.
    meaning : str
        Ends "calls are served ..." in the definition of a number.
    """

    name: str
    placement: str
    copies: int
    meaning: str


_LOGGED = "where the log says"
_STICKY = "on the first deployment that served their session and model"
_LIMITED = f"{_STICKY}, until it reaches its load limit and the session moves on"
_ALL = (
    Route("as_logged", "as_logged", 0, f"{_LOGGED}; KV stays where it was computed"),
    Route("sticky", "sticky", 0, f"{_STICKY}; KV stays where it was computed"),
    Route("sticky_limit", "sticky_limit", 0, f"{_LIMITED}; KV stays where it was computed"),
    Route("as_logged+migration", "as_logged", 1, f"{_LOGGED}; KV moves along with its session"),
    Route("sticky_limit+migration", "sticky_limit", 1, f"{_LIMITED}; KV moves along"),
    Route("as_logged+replication", "as_logged", 2, f"{_LOGGED}; KV is kept up to date on the two deployments that "
          "served its session last"),
)
#: Route by name.
ROUTES: dict[str, Route] = {route.name: route for route in _ALL}

#: How a budget is divided among replicas: name -> what a replica's part is in proportion to.
DIVISIONS = {
    "peak": "its own K* under the route",
    "calls": "the calls that the route serves there",
    "equal": "nothing: all parts are equal",
}

_LIMIT = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,2})?")


@dataclass(frozen=True)
class Routing:
    """What is asked about routing.

    Attributes
    ----------
    routes : tuple of str
        Names of `ROUTES`; may be empty.
    division : str
        A name of `DIVISIONS`.
    load_limit : Fraction
        f, at least 1: under `sticky_limit` a deployment takes at most f times its fair share of a model's calls in
        any minute, rounded up.
    """

    routes: tuple[str, ...] = tuple(ROUTES)
    division: str = "peak"
    load_limit: Fraction = Fraction(5, 4)


DEFAULT_ROUTING = Routing()


def find_routes(names: Iterable[str]) -> tuple[str, ...]:
    """The names, checked.

    Raises
    ------
    UsageError
        For an unknown name; the message lists the known ones.
    """
    found = tuple(names)
    for name in found:
        if name not in ROUTES:
            raise UsageError(f"unknown route {shorten(name)!r}. Known routes: {', '.join(ROUTES)}.")
    return found


def parse_load_limit(text: str) -> Fraction:
    """A load limit as it is written.

    Raises
    ------
    UsageError
        Anything but a decimal of 1 or more: below 1 not every call of a minute could be served.
    """
    if not _LIMIT.fullmatch(text) or Fraction(text) < 1:
        raise UsageError(f"--load-limit {quoted(text)}: write how many times its fair share a deployment may take, as "
                         "a decimal such as 1.25; at least 1, at most two digits after the point.")
    return Fraction(text)
