"""How many calls rebuild their context under a memory budget, policy by policy (paper figure 11)."""

from __future__ import annotations

from functools import partial

from matplotlib.axes import Axes

from figures import axes, budget, replayed, style
from figures.sentence import Quote, Sentence, alike, clause, lacking, say
from figures.source import ResultsLike, Row, known, rows, value_of, why_of
from figures.spec import FigureSpec, Panel
from figures.units import format_value

MOST_PANELS, MOST_POLICIES, MOST_BANDS = 6, 6, 3
FEW_CALLS = 100

#: Lower bounds that are drawn, by q: for policies that keep whole objects, and for those that keep int4 copies.
_BOUNDS = {1.0: ("PFOO-L", "dotted"), 0.25: ("PFOO-L, int4", "dashdot")}


def _panel(ax: Axes, results: ResultsLike, cell: tuple[str, str, str]) -> None:
    data = [r for r in rows(results, "residency_replay") if replayed.cell(r) == cell]
    if not data:
        return axes.note(ax, "nothing was replayed")
    field = replayed.budget_field(data)
    ordered = replayed.ordered(data)
    for i, policy in enumerate(ordered[:MOST_POLICIES]):
        points = sorted(
            (r[field], r["reconstruction_rate"])
            for r in data
            if r["policy"] == policy and r["reconstruction_rate"] is not None and r[field]
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
            if r["policy"] == policy and r[field] and r.get("low") is not None:
                ax.vlines(r[field], r["low"], r["high"], color=look.colour, linewidth=1)
    if data[0].get("sample_fraction") is None:  # whose interval is that of the draw
        _bands(ax, results, cell, field, ordered)
    _bounds(ax, results, cell, field)
    floor = data[0]["first_touch_floor"]
    if floor is not None:
        axes.reference(ax, floor, f"first touches: {format_value(floor, 'share')}")
    replayed.budget_axis(ax, data, data[0]["kstar_bytes"])
    axes.percent_axis(ax.yaxis)
    ax.set_ylabel("calls that rebuild context")
    axes.legend(ax, 2)
    return None


def _bands(ax: Axes, results: ResultsLike, cell: tuple[str, str, str], field: str, policies: list[str]) -> None:
    """How sure the rates of the first policies are, where sessions were resampled; more bands cannot be told apart."""
    if not results.has_table("replay_uncertainty"):
        return
    sure = [
        r
        for r in rows(results, "replay_uncertainty")
        if replayed.cell(r) == cell and r["method"] == "bootstrap"
    ]
    for i, policy in enumerate(policies[:MOST_BANDS]):
        one = [r for r in sure if r["policy"] == policy]
        replayed.bands(ax, one, field, ("lo", "hi"), style.series(i).colour)


def _bounds(ax: Axes, results: ResultsLike, cell: tuple[str, str, str], field: str) -> None:
    """What no policy is below, where it was computed."""
    if not results.has_table("replay_bound"):
        return
    lower = [r for r in rows(results, "replay_bound") if replayed.cell(r) == cell and r["bound"] == "pfoo_l"]
    for q, (name, dash) in _BOUNDS.items():
        points = sorted(
            (r[field], r["reconstruction_rate"])
            for r in lower
            if r["q"] == q and not r["h"] and r["reconstruction_rate"] is not None and r[field]
        )
        if points:
            ax.plot(
                [x for x, _ in points],
                [y for _, y in points],
                color=style.MUTED,
                linestyle=dash,
                linewidth=1.4,
                label=name,
            )


def _panels(results: ResultsLike) -> tuple[Panel, ...]:
    keys = tuple(f"replay.{stream}.{what}.floor" for stream in budget.STREAMS for what in budget.OBJECTS)
    margins = style.Margins(bottom=0.235, top=0.76)
    if not results.has_table("residency_replay"):
        return (
            Panel("replay", "Rate against budget", "residency_replay", lambda ax, r: None, keys, margins),
        )
    first: dict[tuple[str, str, str], Row] = {}
    for row in rows(results, "residency_replay"):
        first.setdefault(replayed.cell(row), row)
    found = [
        Panel(f"p{i}", replayed.title(row), "residency_replay", partial(_panel, cell=cell), (), margins)
        for i, (cell, row) in enumerate(first.items())
    ]
    empty = Panel(
        "replay",
        "Rate against budget",
        "residency_replay",
        lambda ax, r: axes.note(ax, "nothing was replayed"),
        (),
        margins,
    )
    return tuple(found[:MOST_PANELS]) or (empty,)


def _headline(results: ResultsLike) -> Sentence:
    base = budget.subject(results)
    if not base:
        keys = [k for k in results.numbers if k.startswith("replay.") and not known(results, k)]
        return lacking(results, "what a memory budget costs under each policy", tuple(keys[:1]))
    _, stream, objects, *_ = base.split(".")
    named = "" if objects == "session" else f" (objects {budget.OBJECTS[objects]})"
    return _story(results, base, f"{budget.STREAMS[stream]}{named}")


def _story(results: ResultsLike, base: str, where: str) -> Sentence:
    chosen, floor = budget.spoken(results, base), f"{base}.floor"
    if not chosen:
        return say(
            results, f"No policy can avoid that {{{floor}}} of the calls {where} rebuild their context."
        )
    lru = f"{base}.lru.b{chosen}"
    others = {
        f"{base}.fnu.b{chosen}": "FNU, which knows the future,",
        f"{base}.mrr.b{chosen}": "MRR, which keeps compressed copies,",
    }
    others = {key: words for key, words in others.items() if known(results, key)}
    calls = f"{{{base}.calls|call}}" if known(results, f"{base}.calls") else "calls"
    if alike(results, lru, floor):
        rates = f"LRU rebuilds no more than the {{{floor}}} of the {calls} {where} that no policy can avoid"
    else:
        rates = f"LRU rebuilds {{{lru}}} of the {calls} {where}"
        rates += "".join(f", {words} {{{key}}}" for key, words in others.items())
        rates += f"; no policy can avoid {{{floor}}}"
    head = f"{_verdict(results, base, lru, list(others))}: with "
    return Sentence((head, *budget.size(results, base, chosen), *say(results, f", {rates}.").parts))


def _verdict(results: ResultsLike, base: str, lru: str, others: list[str]) -> str:
    """Whether it is policy, memory or neither that keeps calls from finding their KV."""
    rate = value_of(results, lru)
    calls = value_of(results, f"{base}.calls")
    if calls is not None and calls < FEW_CALLS:
        return "These are few calls to judge policies by"
    if budget.sampled(results, base.split(".")[1]) and not known(results, _error(base, lru)):
        return "This is too small a sample to judge policies by"
    if alike(results, lru, f"{base}.floor"):
        return "Memory suffices"
    if rate - value_of(results, f"{base}.floor") < 0.05:
        return "A better policy helps little here"
    if not others:
        return "Memory is short"
    gain = rate - min(value_of(results, key) for key in others)
    if gain < 0.05:
        return "Only memory helps"
    return "Policy decides" if gain >= 0.15 else "A better policy helps somewhat"


def _detail(results: ResultsLike) -> Sentence:
    return _sample(results) + _resampled(results) + _routing(results)


def _sample(results: ResultsLike) -> Sentence:
    """What was drawn, and what the size of the sample does to LRU; nothing where all sessions were replayed."""
    base, lru = budget.subject(results), budget.lru_key(results)
    stream = base.split(".")[1] if base else ""
    if not base or not budget.sampled(results, stream):
        return Sentence()
    drawn = f"replay.{stream}.sample"
    found = say(
        results,
        f"This is a sample, drawn with seed {{{drawn}.seed}}: {{{drawn}.sessions}} of "
        f"{{{drawn}.stream_sessions|session}} {budget.STREAMS[stream]} ({{{drawn}.fraction}} were asked for), with "
        f"{{{drawn}.calls}} of {{{drawn}.stream_calls|call}}.",
    )
    error, policy = _error(base, lru), lru.removeprefix(f"{base}.")
    if lru and not known(results, error):
        return found + Sentence(("The error of LRU’s share is not known: ", Quote(error, why_of(results, error)), "."))
    return found + clause(
        results,
        f"The standard error of LRU’s share is {{{error}}} by the draw. In eighths of the sample LRU "
        f"rebuilds {{{base}.split.{policy}}} with an eighth of the memory each, and {{{base}.groups.{policy}}} with "
        "the same share of what would hold them.",
    )


def _resampled(results: ResultsLike) -> Sentence:
    """What resampling the sessions says; nothing where nobody asked."""
    base, lru = budget.subject(results), budget.lru_key(results)
    start = f"replay.{base.split('.')[1]}.bootstrap" if base else ""
    if not lru or f"{start}.replicates" not in results.numbers:
        return Sentence()
    if not known(results, f"{start}.replicates"):
        why = why_of(results, f"{start}.replicates")
        return Sentence(("How sure the rates are is not known: ", Quote(f"{start}.replicates", why), "."))
    found = say(
        results,
        f"The {{{start}.sessions|session}} were resampled {{{start}.replicates|time}}, with seed "
        f"{{{start}.seed}}.",
    )
    mrr = lru.replace(".lru.", ".ratio.mrr.")
    return found + clause(results, f"With the same sessions MRR rebuilds {{{mrr}}} as often as LRU.")


def _error(base: str, rate: str) -> str:
    """The key of the standard error of a rate."""
    return f"{base}.se.{rate.removeprefix(f'{base}.')}"


def _routing(results: ResultsLike) -> Sentence:
    for one, local in zip(budget.bases("session"), budget.bases("session+deployment"), strict=True):
        placeless = value_of(results, f"replay.{one.split('.')[1]}.unknown_deployment_share") or 0
        one, local = f"{one}.floor", f"{local}.floor"
        # A call of unknown deployment stays where its session is: of many of them, local KV cannot be told.
        if not known(results, one, local) or placeless > 0.5:
            continue
        if alike(results, one, local):
            return say(
                results,
                f"Routing does not raise the floor: {{{local}}} of the calls are first touches also where KV "
                "stays on its deployment.",
            )
        low, high = value_of(results, one), value_of(results, local)
        word = "Routing hardly raises the floor"
        if high > 1.1 * low:
            word = "Routing raises the floor somewhat"
        if high > 1.5 * low:
            word = "Routing sets a floor of its own"
        return say(
            results,
            f"{word}: where KV stays on its deployment, {{{local}}} of the calls are first touches instead "
            f"of {{{one}}}.",
        )
    return Sentence()


FIGURE = FigureSpec(
    name="fig11",
    paper="Fig. 11",
    question="How many calls rebuild their context under a memory budget?",
    kind="replayed",
    tables=("residency_replay", "replay_bound", "replay_uncertainty", "replay_ratio"),
    keys=tuple(
        f"{base}.{what}"
        for objects in budget.OBJECTS
        for base in budget.bases(objects)
        for what in ("floor", "kstar_bytes", "lru.b10", "fnu.b10", "mrr.b10")
    ),
    needs=(),
    subject="what a memory budget costs under each policy",
    panels=_panels,
    headline=_headline,
    detail=_detail,
    definition="The calls are replayed in order against one pool of memory, starting empty. A call whose "
    "object is absent rebuilds its whole context. K* is the peak of the pool when nothing is "
    "evicted; budgets are shares of it. First touches are calls to an object for the first time. "
    "FNU, furthest next use, drops what is called furthest in the future, which it knows; MRR "
    "shrinks the least recently used object to an int4 copy before it drops anything.",
    population="calls with a session id, of the window or of its busiest hour; of the sampled sessions, where a sample "
    "was asked for",
    counts=tuple(
        (f"{base}.floor", f"calls {budget.STREAMS[base.split('.')[1]]}")
        for objects in budget.OBJECTS
        for base in budget.bases(objects)
    ),
    wording="Memory “suffices” when LRU rebuilds first touches only; a better policy “helps little” when LRU is "
    "within five points of the first touches; policy “decides” when the best one shown is fifteen points or more "
    "below LRU, “only memory helps” when under five. The sentence speaks of the first budget that was asked for as "
    "an amount, else of the share nearest to a tenth.",
    caution="Counterfactual: nobody ran these policies. One pool stands for all replicas, which is kinder "
    "than memory that is split among them. FNU is no bound, as objects differ in size; the "
    "grey lines, PFOO-L, are, where they were asked for: no policy that keeps whole objects, or int4 copies, rebuilds "
    "less. "
    "What int4 does to answers, and the time to move copies, is not counted. Objects that existed "
    "before the stream count as first touches. In a sample fewer sessions share the memory, and rates at small budgets "
    "move with that; bars show how far, where the sample can tell. Bands, of three policies at most, "
    "are 95% intervals from resampled sessions: what other sessions of this kind, as many and at the same hour, might "
    "have brought. Another hour may differ by more.",
)
