"""Which replay a sentence speaks of: its stream, its objects, its budget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from figures.sentence import Quote, Value, say
from figures.source import ResultsLike, known

__all__ = ["OBJECTS", "STREAMS", "bases", "lru_key", "sampled", "short", "size", "spoken", "subject"]

STREAMS: Final = {"busiest-hour": "in the busiest hour", "window": "over the whole window"}
OBJECTS: Final = {
    "session": "by session",
    "session+model": "by session and model",
    "session+deployment": "by session and deployment",
}
_TENTH: Final = 10.0


def bases(objects: str) -> tuple[str, ...]:
    """The beginnings of the keys of one kind of object: the busiest hour before the window."""
    return tuple(f"replay.{stream}.{objects}{never}" for stream in STREAMS for never in ("", ".never"))


def subject(results: ResultsLike) -> str:
    """The beginning of the keys to speak of: the first kind of object that was replayed; else empty."""
    found = (base for objects in OBJECTS for base in bases(objects) if known(results, f"{base}.floor"))
    return next(found, "")


def spoken(results: ResultsLike, base: str) -> str:
    """The budget to speak of, as a key ends: `10` is a share of K*, `4.7TB` an amount; empty where there is none.

    An amount comes before every share, since it is a machine that the user has in mind: the one named first. Of
    shares it is the one nearest to a tenth, which other reports speak of too.
    """
    start = f"{base}.lru.b"
    names = [key[len(start) :] for key in results.numbers if key.startswith(start) and known(results, key)]
    amounts = [name for name in names if not _is_share(name)]
    if amounts:
        order = _order(results)
        return min(amounts, key=lambda name: order.get(name, len(order)))
    return min(names, key=lambda name: abs(float(name) - _TENTH), default="")


def lru_key(results: ResultsLike) -> str:
    """The key of LRU's rate at the budget to speak of; empty where there is none."""
    base = subject(results)
    budget = spoken(results, base) if base else ""
    return f"{base}.lru.b{budget}" if budget else ""


def size(results: ResultsLike, base: str, budget: str) -> tuple[str | Value | Quote, ...]:
    """The budget in words: a share of K*, with K* itself, or an amount."""
    lru = f"{base}.lru.b{budget}"
    if not _is_share(budget):
        return (Quote(lru, f"{budget} of memory"),)
    share: str | Quote = "a tenth" if float(budget) == _TENTH else Quote(lru, f"{budget}%")
    held = "the sample" if sampled(results, base.split(".")[1]) else "everything"
    if not known(results, f"{base}.kstar_bytes"):
        return (share, f" of the memory that would hold {held}")
    return (share, *say(results, f" of the {{{base}.kstar_bytes}} that would hold {held}").parts)


def sampled(results: ResultsLike, stream: str) -> bool:
    """Whether a sample of the sessions was replayed."""
    return known(results, f"replay.{stream}.sample.fraction")


def short(key: str) -> str:
    """The budget of a rate's key for the head of a column: `10% of K*` or `4.7TB`."""
    budget = key.rpartition(".b")[2]
    return f"{budget}% of K*" if _is_share(budget) else budget


def _is_share(budget: str) -> bool:
    return budget.replace(".", "", 1).isdigit()


def _order(results: ResultsLike) -> dict[str, int]:
    """Budgets by their place in the user's list."""
    configuration = results.manifest.get("configuration")
    replay = configuration.get("replay") if isinstance(configuration, Mapping) else None
    budgets = replay.get("budgets") if isinstance(replay, Mapping) else None
    return {str(budget): place for place, budget in enumerate(budgets if isinstance(budgets, list) else ())}
