"""All comparing figures, in the order of the paper."""

from __future__ import annotations

from figures.compared import depth, gaps, replay, reuse_gap, transitions, working_set
from figures.compared.spec import ComparedFigure

__all__ = ["FIGURES"]

FIGURES: tuple[ComparedFigure, ...] = (
    reuse_gap.FIGURE, depth.FIGURE, working_set.FIGURE, gaps.FIGURE, transitions.FIGURE, replay.FIGURE,
)
