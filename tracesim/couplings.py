"""What ties the components of a trace together, and each tie cut.

A trace with the right marginals but without these couplings gives the wrong answer to the question
that the coupling decides (paper 6: a marginals-only generator fails). `COUPLINGS` names them, with a
number of the store that shows it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tracesim.profile import Context, Gaps, Placement, Profile, Reuse

__all__ = ["COUPLINGS", "Coupling"]

_FORMULAS = "couplings are cut in profiles of formulas"


@dataclass(frozen=True)
class Coupling:
    """A coupling.

    Attributes
    ----------
    what : str
    shows : str
        Key of a published number that leaves its tolerance without the coupling.
    cut : callable
        Profile -> the same without it.
    """

    what: str
    shows: str
    cut: Callable[[Profile], Profile]


def _no_excursions(profile: Profile) -> Profile:
    reuse = profile.reuse
    assert isinstance(reuse, Reuse), _FORMULAS
    return replace(profile, reuse=replace(reuse, excursion=(reuse.same[0],) * len(reuse.excursion)))


def _no_moves_in_reuse(profile: Profile) -> Profile:
    reuse = profile.reuse
    assert isinstance(reuse, Reuse), _FORMULAS
    same = reuse.same[0]
    return replace(profile, reuse=replace(reuse, cross_deployment=same, cross_region=same))


def _no_roles_in_context(profile: Profile) -> Profile:
    context = profile.context
    assert isinstance(context, Context), _FORMULAS
    return replace(profile, context=replace(context, scale=(1.0,) * len(context.scale)))


def _no_growth(profile: Profile) -> Profile:
    assert isinstance(profile.context, Context), _FORMULAS
    return replace(profile, context=replace(profile.context, growth=0.0))


def _one_law_of_gaps(profile: Profile) -> Profile:
    """Between turns the quantiles of the first law within a turn."""
    assert isinstance(profile.gaps, Gaps), _FORMULAS
    median = profile.gaps.intra[0].median
    return replace(profile, gaps=replace(profile.gaps, inter=((0.0, median / 10), (0.5, median), (1.0, median * 10))))


def _no_memory_of_class(profile: Profile) -> Profile:
    classes = profile.classes
    return replace(profile, classes=replace(classes, following=(classes.first,) * len(classes.first)))


def _returns_as_stays(profile: Profile) -> Profile:
    placement = profile.placement
    assert isinstance(placement, Placement), _FORMULAS
    return replace(profile, placement=replace(placement, return_deployment=placement.move_deployment,
                                              return_region=placement.move_region))


COUPLINGS = {
    "excursion-reuse": Coupling("reuse of Spine calls falls with the length of the excursion before them",
                                "excursion.reuse_3plus", _no_excursions),
    "placement-reuse": Coupling("reuse falls when a model's next call is served elsewhere",
                                "transition.cross_deployment.reuse", _no_moves_in_reuse),
    "class-context": Coupling("context depends on the role of the model",
                              "class_share.conservative.scoped_and_fanout", _no_roles_in_context),
    "index-context": Coupling("context grows along a session, so that deep sessions have large peaks",
                              "context.index_11_p50", _no_growth),
    "turn-gap": Coupling("gaps between turns are longer than gaps within", "gap.inter_idle_share", _one_law_of_gaps),
    "class-class": Coupling("the class of a call tells that of the next", "class.next_accuracy", _no_memory_of_class),
    "class-placement": Coupling("a session that returns to a model is served elsewhere more often than one that stays",
                                "placement.sd_share", _returns_as_stays),
}
