"""A figure of the report in a notebook.

    shown("fig10", Results.open("report/all"))

as the last line of a cell shows the figure; printed, it says its finding.
"""

from __future__ import annotations

from dataclasses import dataclass

from figures.registry import EVENT_FIGURES, all_figures
from figures.source import ResultsLike
from figures.spec import FigureSpec
from figures.svg import to_svg
from telemetry.errors import UsageError, quoted

__all__ = ["Shown", "shown"]


@dataclass(frozen=True, repr=False)
class Shown:
    """One figure of one result. Jupyter asks an object that it shows for `_repr_svg_`."""

    figure: FigureSpec
    results: ResultsLike

    def _repr_svg_(self) -> str:
        return to_svg(self.figure.draw(self.results), self.figure.name, self.figure.question, repr(self))

    def __repr__(self) -> str:
        return self.figure.finding(self.results).plain()


def shown(name: str, results: ResultsLike) -> Shown:
    """A figure by its name: `fig10`, `event-depth`.

    Raises
    ------
    UsageError
        When there is no such figure; the message lists all.
    """
    figures = {figure.name: figure for figure in (*all_figures(), *EVENT_FIGURES)}
    if name not in figures:
        known = ", ".join(f"{figure.name} ({figure.question})" for figure in figures.values())
        raise UsageError(f"no figure is called {quoted(name)}. Known figures: {known}.")
    return Shown(figures[name], results)
