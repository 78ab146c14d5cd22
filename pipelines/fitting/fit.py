"""A profile of a trace: every component, fitted in the order in which they build on each other."""

from __future__ import annotations

from metrics.core.trace import Trace
from pipelines.fitting.pace import fit_depth, fit_gaps, fit_turns
from pipelines.fitting.roles import fit_classes, fit_placement, settled
from pipelines.fitting.rows import read_rows
from pipelines.fitting.starts import fit_arrivals, fit_window
from pipelines.fitting.support import Support
from pipelines.fitting.tokens import fit_contexts, fit_durations, fit_reuse
from telemetry.errors import InputError
from tracesim.profile import Profile

__all__ = ["fit_profile"]


def fit_profile(trace: Trace, k: int) -> tuple[Profile, list[str]]:
    """The profile of a trace, and what was pooled in it.

    Parameters
    ----------
    trace : Trace
        Derived.
    k : int
        Sessions that every parameter rests on, at least.

    Raises
    ------
    InputError
        No sessions, or fewer than k.
    """
    rows, support = read_rows(trace), Support(k)
    if rows.sessions < k:
        raise InputError(f"the trace has {rows.sessions} sessions, and a parameter must rest on {k} or more. Give a "
                         "longer trace, or lower --least-sessions if nobody minds what it then tells of each.")
    rows, kind = settled(rows, support)
    window = fit_window(rows, whole=trace.settings.whole_sessions)
    depth = fit_depth(rows, window, support)
    turns = fit_turns(rows, depth, support)
    profile = Profile(
        name="fitted", window=window, arrivals=fit_arrivals(rows, window, support), depth=depth, turns=turns,
        gaps=fit_gaps(rows, window, depth, turns, support), classes=fit_classes(rows, kind, support),
        placement=fit_placement(rows, support), context=fit_contexts(rows, kind, depth, support),
        reuse=fit_reuse(rows, kind, support), durations=fit_durations(rows, kind, support),
        unsessioned_per_session=round((trace.profile.calls - trace.profile.sessioned) / rows.sessions, 3))
    if support.bounded:
        support.pooled.append(f"{len(support.bounded)} parameters in which a session has more than 1/{k} of the calls: "
                              "it weighs that")
    return profile, support.pooled
