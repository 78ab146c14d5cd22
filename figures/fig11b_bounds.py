"""How far each policy stands from what no policy can beat (beyond the paper)."""

from __future__ import annotations

from functools import partial

from matplotlib.axes import Axes

from figures import axes, budget, replayed, style
from figures.sentence import Sentence, clause, lacking, say
from figures.source import ResultsLike, Row, known, rows, value_of
from figures.spec import FigureSpec, Panel

MOST_PANELS, MOST_POLICIES = 6, 6
FEW_CALLS = 100
_SUBJECT = "how far policies are from the best one"

#: Policies that keep or discard whole objects, in the words of a sentence.
_WHOLE = {"lru": "LRU", "fnu": "FNU, which knows the future,", "size_aware": "a size-aware rule that knows the future"}


def _panel(ax: Axes, results: ResultsLike, cell: tuple[str, str, str]) -> None:
    data = [r for r in rows(results, "replay_distance") if replayed.cell(r) == cell]
    if not data:
        return axes.note(ax, "nothing was bounded")
    field = replayed.budget_field(data)
    ordered = replayed.ordered(data)
    for i, policy in enumerate(ordered[:MOST_POLICIES]):
        points = sorted(
            (r[field], r["above_bound"])
            for r in data
            if r["policy"] == policy and r["above_bound"] is not None and r[field]
        )
        look = style.series(i)
        ax.plot(
            [x for x, _ in points],
            [y for _, y in points],
            color=look.colour,
            linestyle=look.dash,
            marker=look.marker,
            label=replayed.policy(policy),
        )
        for r in data:
            if r["policy"] == policy and r[field] and r["low"] is not None:
                ax.vlines(r[field], r["low"], r["high"], color=look.colour, linewidth=1)
    replayed.budget_axis(ax, data, None)
    axes.percent_axis(ax.yaxis, whole=False)
    ax.set_ylim(bottom=0)
    ax.set_ylabel("rebuilt beyond the bound")
    axes.legend(ax, 3)
    return None


def _panels(results: ResultsLike) -> tuple[Panel, ...]:
    keys = tuple(f"replay.{stream}.{what}.floor" for stream in budget.STREAMS for what in budget.OBJECTS)
    margins = style.Margins(bottom=0.235, top=0.83)
    first: dict[tuple[str, str, str], Row] = {}
    if results.has_table("replay_distance"):
        for row in rows(results, "replay_distance"):
            first.setdefault(replayed.cell(row), row)
    found = [
        Panel(f"p{i}", replayed.title(row), "replay_distance", partial(_panel, cell=cell), (), margins)
        for i, (cell, row) in enumerate(first.items())
    ]
    empty = Panel(
        "distance",
        "Distance against budget",
        "replay_distance",
        lambda ax, r: axes.note(ax, "nothing was bounded"),
        keys if not results.has_table("replay_distance") else (),
        margins,
    )
    return tuple(found[:MOST_PANELS]) or (empty,)


def _chosen(results: ResultsLike) -> tuple[str, str]:
    """The beginning and the end of the keys to speak of; empty where there are none."""
    base = budget.subject(results)
    chosen = budget.spoken(results, base) if base else ""
    return base, chosen and f"b{chosen}"


def _headline(results: ResultsLike) -> Sentence:
    base, at = _chosen(results)
    if not base:
        keys = [k for k in results.numbers if k.startswith("replay.") and not known(results, k)]
        return lacking(results, _SUBJECT, tuple(keys[:1]))
    least = f"{base}.pfoo_l.{at}"
    best = _best(results, base, at)
    if not best or not known(results, least):
        return lacking(results, _SUBJECT, (least,))
    head = f"{_verdict(results, base, f'{base}.above_bound.{best}.{at}')}: with "
    return Sentence(
        (
            head,
            *budget.size(results, base, at[1:]),
            *say(
                results,
                f", {_WHOLE[best]} rebuilds {{{base}.{best}.{at}}} of the calls {budget.STREAMS[base.split('.')[1]]}, "
                f"and no policy that keeps or discards whole objects less than {{{least}}}.",
            ).parts,
        )
    )


def _best(results: ResultsLike, base: str, at: str) -> str:
    """The policy of whole objects that rebuilds least, of those whose distance is known."""
    names = [p for p in _WHOLE if known(results, f"{base}.{p}.{at}", f"{base}.above_bound.{p}.{at}")]
    return min(names, key=lambda name: value_of(results, f"{base}.{name}.{at}"), default="")


def _verdict(results: ResultsLike, base: str, above: str) -> str:
    """What is left between the best policy and the bound."""
    calls = value_of(results, f"{base}.calls")
    if calls is not None and calls < FEW_CALLS:
        return "These are few calls to judge policies by"
    gap = value_of(results, above)
    if gap < 0.05:
        return "Little is left to gain"
    return "Something may be left to gain" if gap < 0.15 else "Much may be left to gain"


def _detail(results: ResultsLike) -> Sentence:
    base, at = _chosen(results)
    if not base or not known(results, f"{base}.pfoo_l.{at}"):
        return Sentence()
    found = clause(
        results,
        f"A schedule made in hindsight rebuilds {{{base}.pfoo_u.{at}}}: the optimum lies between.",
    )
    return found + clause(
        results,
        f"MRR, which keeps compressed copies, rebuilds {{{base}.mrr.{at}}}; no policy that keeps such copies less than "
        f"{{{base}.pfoo_l_q32.{at}}}.",
    )


FIGURE = FigureSpec(
    name="fig11b",
    paper="Section 5.2",
    question="How far is each policy from what no policy can beat?",
    kind="replayed",
    tables=("replay_distance",),
    keys=tuple(
        f"{base}.{what}.b10"
        for objects in budget.OBJECTS
        for base in budget.bases(objects)
        for what in ("pfoo_l", "pfoo_u", "pfoo_l_q32", "above_bound.lru", "above_bound.fnu", "above_bound.mrr")
    ),
    needs=(),
    subject=_SUBJECT,
    panels=_panels,
    headline=_headline,
    detail=_detail,
    definition="A policy’s rebuilt calls beyond the lower bound for its kind, as a share of all calls. The bound is "
    "PFOO-L: a call finds its object only if its context was held since the call before, which takes its size times "
    "the calls in between; no policy can hold more than the budget times all calls, so none has more hits than the "
    "cheapest of these that fit. Policies that keep compressed copies are held against the bound for copies of that "
    "size.",
    population="calls with a session id, of the window or of its busiest hour; of the sampled sessions, where a sample "
    "was asked for",
    counts=tuple(
        (f"{base}.pfoo_l.b10", f"calls {budget.STREAMS[base.split('.')[1]]}")
        for objects in budget.OBJECTS
        for base in budget.bases(objects)
    ),
    wording="“Little” is left when the best policy shown that keeps whole objects rebuilds under five points more than "
    "the bound, “much” from fifteen points on. The sentence speaks of the first budget that was asked for as an "
    "amount, else of the share nearest to a tenth.",
    caution="The bound may not be reached by any policy, least of all by one that does not know the future: a distance "
    "is what could be gained at most. The bounds count calls; none is for rebuilt tokens. A bound for whole objects "
    "does not bind a policy that keeps compressed copies. Bounds of a sample hold for the sample.",
    in_summary=False,
)
