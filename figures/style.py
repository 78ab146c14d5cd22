"""How figures look: palette, line styles, margins.

Colours are the Okabe-Ito set, some darkened until they stand 3:1 against white; `svg.py` turns each
into a CSS variable so that the page decides for dark mode and print. Nothing is told by colour alone:
every series has its own dash, marker or hatch as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

__all__ = [
    "BACKGROUND",
    "BAND",
    "COLOURS",
    "DASHES",
    "FEW",
    "FOREGROUND",
    "GRID",
    "HATCHES",
    "MARGINS",
    "MARKERS",
    "MUTED",
    "PANEL_INCHES",
    "RC",
    "Margins",
    "Series",
    "glyph",
    "series",
]

PANEL_INCHES: Final = (4.0, 2.8)

BACKGROUND: Final = "#ffffff"  # of the page: the lines of a hatch
FOREGROUND: Final = "#1b1f24"
MUTED: Final = "#5b6470"
GRID: Final = "#dfe3e8"
COLOURS: Final = ("#0072b2", "#c04f00", "#00795a", "#a3527f", "#8a6a00", "#45525f")
BAND: Final = 0.18  # opacity of areas
FEW: Final = 10  # a mean over fewer is drawn hollow: one more call could move it far
DASHES: Final[tuple[Any, ...]] = (
    "solid",
    (0, (5, 2)),
    (0, (1.5, 1.5)),
    (0, (6, 2, 1.5, 2)),
    (0, (3, 1, 1, 1, 1, 1)),
    (0, (9, 3)),
)
MARKERS: Final = ("o", "s", "^", "D", "v", "P")
HATCHES: Final = ("", "//", "..", "xx", "--", "++")

#: Applied with `rc_context` round every draw, so a user's own matplotlibrc changes no figure.
RC: Final[Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "text.parse_math": False,  # a label with two dollar signs is a label, not a formula
    "text.usetex": False,
    "font.size": 9.0,
    "axes.labelsize": 9.0,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "text.color": FOREGROUND,
    "axes.labelcolor": FOREGROUND,
    "axes.edgecolor": MUTED,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": FOREGROUND,
    "ytick.labelcolor": FOREGROUND,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "axes.axisbelow": True,
    "xtick.major.size": 3.0,
    "ytick.major.size": 0.0,
    "xtick.minor.size": 0.0,
    "ytick.minor.size": 0.0,
    "lines.linewidth": 1.8,
    "lines.markersize": 4.5,
    "patch.linewidth": 0.8,
    "hatch.linewidth": 0.9,
    "path.simplify": True,
    "path.simplify_threshold": 0.2,
    "axes.unicode_minus": True,
    "axes.formatter.use_mathtext": False,
    "axes.autolimit_mode": "data",
    "axes.xmargin": 0.02,
    "axes.ymargin": 0.04,
    "savefig.bbox": "standard",
    "figure.dpi": 100.0,
    "savefig.dpi": 100.0,
}


@dataclass(frozen=True)
class Margins:
    """Room round the axes as shares of the panel. Fixed: no layout pass, the same result everywhere."""

    left: float = 0.155
    right: float = 0.965
    bottom: float = 0.19
    top: float = 0.945

    def rectangle(self) -> tuple[float, float, float, float]:
        return (self.left, self.bottom, self.right - self.left, self.top - self.bottom)


MARGINS: Final = Margins()


@dataclass(frozen=True)
class Series:
    """The look of the i-th series."""

    colour: str
    dash: Any
    marker: str
    hatch: str


def series(position: int) -> Series:
    """Look number `position`; beyond the sixth they repeat."""
    i = position % len(COLOURS)
    return Series(COLOURS[i], DASHES[i], MARKERS[i], HATCHES[i])


def glyph(position: int) -> str:
    """The marker of series `position` as a character, so that a label names its line."""
    return "●■▲◆▼✚"[position % 6]
