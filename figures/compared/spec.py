"""What a comparing figure declares: a question, what it draws of every window, and what the windows tell together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures import style
from figures.axes import legend as add_legend
from figures.sentence import Quote, Sentence, Value, say
from figures.source import ResultsLike, known, value_of, why_of
from figures.spec import Kind
from figures.units import clean, format_value

__all__ = [
    "MOST_WINDOWS", "Compared", "ComparedFigure", "ComparedPanel", "extremes", "name_of", "number", "same", "told",
]

#: More lines than this nobody tells apart.
MOST_WINDOWS = 12
_INCHES = (4.0, 3.3)  # a panel has a legend, too
_ROW = 0.05  # of a legend, in heights of a panel


@dataclass(frozen=True)
class Compared:
    """One window among others: its label, its results, and its place in the list, which gives it its look."""

    label: str
    results: ResultsLike
    place: int

    @property
    def look(self) -> style.Series:
        """Unlike that of any other window: from the seventh on a colour comes again with another dash and marker."""
        colour, round_ = self.place % len(style.COLOURS), self.place // len(style.COLOURS)
        other = style.series(colour + round_)
        return style.Series(style.COLOURS[colour], other.dash, other.marker, other.hatch)

    def value(self, key: str) -> float | None:
        """The value of a number; None where it is not known."""
        found = value_of(self.results, key)
        return None if found is None else float(found)


Windows = Sequence[Compared]


def legend_columns(names: int) -> int:
    """Few names may be long."""
    return 1 if names <= 3 else 2


def name_of(window: Compared, windows: Windows) -> str:
    """The label of a window as it stands in a legend."""
    return clean(window.label, 34 if len(windows) <= 3 else 17)


@dataclass(frozen=True)
class ComparedPanel:
    """One plot; a window without `table`, or without any of the numbers `keys`, is left out with its reason."""

    name: str
    title: str
    table: str | None
    keys: tuple[str, ...]
    draw: Callable[[Axes, Windows], None]
    margins: style.Margins = style.MARGINS
    also: int = 0  # names in the legend that are no windows

    def reason(self, window: Compared) -> str | None:
        """Why a window is not in this plot, or None where it is."""
        for key in self.keys:
            if not known(window.results, key):
                return why_of(window.results, key)
        if self.table is not None and not window.results.has_table(self.table):
            return f"the table {self.table} was not made in this run"
        return None

    def figure(self, windows: Windows) -> Figure:
        """The plot of the windows that have it, below a legend as high as they need."""
        drawn = [w for w in windows if self.reason(w) is None]
        names = len(drawn) + self.also
        margins = replace(self.margins, top=self.margins.top - _ROW * -(-names // legend_columns(names)))
        with mpl.rc_context(style.RC):
            figure = Figure(figsize=_INCHES)
            axes = figure.add_axes(margins.rectangle())
            self.draw(axes, drawn)
            add_legend(axes, legend_columns(len(axes.get_legend_handles_labels()[0])))
        return figure


@dataclass(frozen=True)
class ComparedFigure:
    """A figure of the comparison; every text is for its reader."""

    name: str
    paper: str
    question: str
    kind: Kind
    panels: tuple[ComparedPanel, ...]
    headline: Callable[[Windows], Sentence]
    subject: str  # what cannot be compared where fewer than two windows know it
    definition: str
    caution: str

    def finding(self, windows: Windows) -> Sentence:
        """What the windows tell together, or that they do not."""
        return self.headline(windows) or Sentence(
            (f"Fewer than two of these results tell {self.subject}.",), missing=True)


def extremes(windows: Windows, key: str) -> tuple[Compared, Compared] | None:
    """The windows with the lowest and the highest value, the earlier one on a tie; None unless two know it."""
    having = [(window.value(key), window) for window in windows if known(window.results, key)]
    if len(having) < 2:
        return None
    low = min(having, key=lambda pair: pair[0] or 0.0)[1]
    return low, max(having, key=lambda pair: pair[0] or 0.0)[1]


def number(window: Compared, key: str, noun: str = "") -> tuple[str | Value | Quote, ...]:
    """A number of a window as it stands in a sentence: `13 calls`."""
    return say(window.results, f"{{{key}|{noun}}}" if noun else f"{{{key}}}").parts


def told(window: Compared, key: str, noun: str = "") -> tuple[str | Value | Quote, ...]:
    """A number of a window, and in which one it is: `13 calls in A`."""
    return (*number(window, key, noun), " in ", Quote(key, window.label))


def elsewhere(windows: Windows, key: str) -> str:
    """Of a value that is the same in all windows that tell it: where else than in the one that was named."""
    tell = sum(known(window.results, key) for window in windows)
    if tell == len(windows):
        return " and everywhere else."
    return f" and in {'the other one that tells' if tell == 2 else f'the {tell - 1} others that tell'}."


def same(low: Compared, high: Compared, key: str) -> bool:
    """Whether two windows' values read the same."""
    one, other = low.results.numbers[key], high.results.numbers[key]
    return format_value(one.value, one.unit) == format_value(other.value, other.unit)
