"""What a comparison does not compare, because one of the logs says nothing of it."""

from __future__ import annotations

import numpy as np

from pipelines.matching.side import Side

__all__ = ["left_out"]


def left_out(measured: Side, generated: Side) -> list[str]:
    """One phrase a statistic, with the reason: what is not in the table."""
    found = []
    if not len(measured.rows.reuse):
        found.append("reuse of calls (the log reports no cached tokens)")
    if not (measured.rows.duration_us >= 0).any():
        found.append("engine time (the log reports no durations)")
    elif not (generated.rows.duration_us >= 0).any():
        found.append("engine time (the trace has no durations: too few sessions of the log reported them)")
    if one_class(measured, generated):
        found.append("classes (the log names no models, or --config maps all of them to one class)")
    return found


def one_class(*sides: Side) -> bool:
    """Whether none of them has calls of two classes."""
    return all(len(np.unique(side.rows.kind[side.rows.kind >= 0])) < 2 for side in sides)
