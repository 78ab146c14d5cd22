"""All figures: of a call log every module named `figNN...` of this package, in the order of the paper, by name; of an
event log those of `figures.events`."""

from __future__ import annotations

import importlib
import pkgutil
import re
from functools import cache

import figures
from figures.events import depth, tokens, tools
from figures.source import ResultsLike
from figures.spec import FigureSpec

__all__ = ["EVENT_FIGURES", "all_figures", "figures_of"]

EVENT_FIGURES: tuple[FigureSpec, ...] = (depth.FIGURE, tools.FIGURE, tokens.FIGURE)


@cache
def all_figures() -> tuple[FigureSpec, ...]:
    """The figures of a call log, ordered by file name; a file without `FIGURE`, or a name used twice, is an error."""
    found: dict[str, FigureSpec] = {}
    names = sorted(m.name for m in pkgutil.iter_modules(figures.__path__) if re.match(r"fig\d", m.name))
    for name in names:
        spec = getattr(importlib.import_module(f"figures.{name}"), "FIGURE", None)
        if not isinstance(spec, FigureSpec):
            raise TypeError(f"figures/{name}.py declares no FIGURE = FigureSpec(...)")
        if spec.name in found:
            raise ValueError(f"two figures are named {spec.name!r}; the second is figures/{name}.py")
        found[spec.name] = spec
    return tuple(found.values())


def figures_of(results: ResultsLike) -> tuple[FigureSpec, ...]:
    """The figures of a store, by what the rows of its log are."""
    return EVENT_FIGURES if "events.count" in results.numbers else all_figures()
