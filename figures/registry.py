"""All figures in the order of the paper: every module named `figNN...` of this package, by name."""

from __future__ import annotations

import importlib
import pkgutil
import re
from functools import cache

import figures
from figures.spec import FigureSpec

__all__ = ["all_figures"]


@cache
def all_figures() -> tuple[FigureSpec, ...]:
    """The figures, ordered by file name; a file without `FIGURE`, or a name used twice, is an error."""
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
