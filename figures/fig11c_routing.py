"""What another routing would do to deployment-local KV, and what dividing memory among replicas costs (5.5)."""

from __future__ import annotations

from matplotlib.axes import Axes

from figures import axes, budget, style
from figures.sentence import Sentence, alike, clause, lacking, say
from figures.source import ResultsLike, Row, known, rows, value_of
from figures.spec import FigureSpec, Panel
from figures.units import format_value

_ROUTES = {
    "as_logged": "as logged",
    "sticky": "sticky",
    "sticky_limit": "sticky, load limit",
    "as_logged+migration": "as logged, KV moves",
    "sticky_limit+migration": "load limit, KV moves",
    "as_logged+replication": "as logged, two copies",
}
_POLICIES = {"lru": "LRU", "mrr": "MRR (int4)"}
_DIVIDED = ("peak", "calls", "equal")
FEW_CALLS = 100


def _memory(ax: Axes, results: ResultsLike) -> None:
    data = [r for r in rows(results, "replay_routing") if r["route"] == "as_logged"]
    if not data:
        return axes.note(ax, "not replayed as logged")
    shares = all(r["budget_share"] for r in data)
    field = "budget_share" if shares else "budget_bytes"
    lines = dict.fromkeys((r["policy"], r["memory"]) for r in data)
    ax.set_xscale("log")
    for i, (policy, memory) in enumerate(lines):
        points = sorted(
            (r[field], r["reconstruction_rate"])
            for r in data
            if (r["policy"], r["memory"]) == (policy, memory) and r["reconstruction_rate"] is not None
        )
        look = style.series(i)
        name = f"{_POLICIES.get(policy, axes.label(policy))}, {'one pool' if memory == 'pooled' else 'divided'}"
        ax.plot(
            [x for x, _ in points],
            [y for _, y in points],
            color=look.colour,
            linestyle=look.dash,
            marker=look.marker,
            label=name,
        )
    if shares:
        axes.percent_axis(ax.xaxis, whole=False)
    else:
        axes.bytes_axis(ax.xaxis)
    axes.percent_axis(ax.yaxis)
    ax.set_xlabel("memory of all replicas" + (" (share of K*)" if shares else ""))
    ax.set_ylabel("calls that rebuild context")
    axes.legend(ax, 2)
    return None


def _floors(ax: Axes, results: ResultsLike) -> None:
    first: dict[str, Row] = {}
    for row in rows(results, "replay_routing"):
        first.setdefault(row["route"], row)
    if not first:
        return axes.note(ax, "no route was replayed")
    names = [_ROUTES.get(route, axes.label(route)) for route in first]
    for place, row in zip(axes.categories(ax, names, "y"), first.values(), strict=True):
        floor = row["first_touch_floor"]
        load = "" if row["load_max"] is None else f" · load up to {format_value(row['load_max'], 'ratio')}"
        if floor is not None:
            ax.barh(place, floor, 0.66, **axes.bar_look(style.series(0), row["calls"]))
        words = f"{format_value(floor, 'share')}{load}" if floor is not None else "no calls"
        ax.text((floor or 0) + 0.015, place, words, va="center", fontsize=8, gid="halo")
    axes.percent_axis(ax.xaxis)
    ax.set_xlim(0, 2)  # room for the words behind a full bar
    ax.set_xticks([0, 0.5, 1])
    ax.set_xlabel("calls that are first touches")
    return None


def _start(results: ResultsLike, route: str = "as_logged") -> str:
    """The beginning of a route's keys: the stream that was replayed; else empty."""
    bases = (base for base in budget.bases(f"routing.{route}") if known(results, f"{base}.floor"))
    return next(bases, "")


def _headline(results: ResultsLike) -> Sentence:
    logged, sticky = _start(results), _start(results, "sticky")
    if not logged or not sticky:
        nulls = [key for key in results.numbers if ".routing." in key and not known(results, key)]
        return lacking(results, FIGURE.subject, tuple(nulls[:1]))
    stream = budget.STREAMS[logged.split(".")[1]]
    return say(
        results,
        f"{_verdict(results, logged, sticky)}: where KV stays on the deployment that computed it, "
        f"{{{logged}.floor}} of the calls {stream} find none as they were routed, and {{{sticky}.floor}} would if "
        "each session stayed, for each model, on its first deployment.",
    )


def _verdict(results: ResultsLike, logged: str, sticky: str) -> str:
    calls = results.numbers[f"{logged}.floor"].n
    if calls is not None and calls < FEW_CALLS:
        return "These are few calls to judge routes by"
    if alike(results, f"{logged}.floor", f"{sticky}.floor"):
        return "Routing is as good as sticky"
    high, low = value_of(results, f"{logged}.floor"), value_of(results, f"{sticky}.floor")
    return "Sticky routing pays" if high > 1.1 * low else "Sticky routing gains little"


def _detail(results: ResultsLike) -> Sentence:
    logged, sticky, moving = (_start(results, r) for r in ("as_logged", "sticky", "as_logged+migration"))
    found = clause(
        results,
        f"In some minute a deployment would then take {{{sticky}.load_max}} its fair share of the calls, against "
        f"{{{logged}.load_max}} as logged.",
    )
    found += clause(
        results,
        f"If KV moved along with the sessions instead, {{{moving}.floor}} would find none, and "
        f"{{{moving}.moved_bytes}} would move.",
    )
    return found + _divided(results, logged)


def _divided(results: ResultsLike, logged: str) -> Sentence:
    """What a wall between replicas costs LRU."""
    chosen = budget.spoken(results, f"{logged}.pooled") if logged else ""
    pooled = f"{logged}.pooled.lru.b{chosen}"
    for division in _DIVIDED:
        apart = f"{logged}.{division}.lru.b{chosen}"
        if chosen and known(results, pooled, apart):
            if alike(results, pooled, apart):
                return say(results, f"Memory that replicas divide serves LRU as well as one pool: {{{apart}}}.")
            rates = f", divided among replicas, LRU rebuilds {{{apart}}} of the calls, and {{{pooled}}} in one pool."
            size = budget.size(results, f"{logged}.pooled", chosen)
            return Sentence(("With ", *size, *say(results, rates).parts))
    return Sentence()


_KEYS = tuple(
    f"{base}.{what}"
    for route in _ROUTES
    for base in budget.bases(f"routing.{route}")
    for what in ("floor", "load_max", "moved_bytes")
    if what != "moved_bytes" or "+" in route
)

FIGURE = FigureSpec(
    name="fig11c",
    paper="beyond Fig. 11",
    question="What would another routing, or memory that replicas divide, do to the KV?",
    kind="replayed",
    tables=("replay_routing",),
    keys=_KEYS,
    needs=(),
    subject="what another routing would do to the KV",
    panels=(
        Panel("memory", "One pool or divided, as logged", "replay_routing", _memory, _KEYS, style.Margins(top=0.83)),
        Panel("routes", "First touches and load by route", "replay_routing", _floors, _KEYS, style.Margins(left=0.36)),
    ),
    headline=_headline,
    detail=_detail,
    definition="Every call is served again, as logged or where the route sends it, among the deployments that were "
    "seen to serve its model. KV is local to a deployment; on routes where it moves, it moves with the session, or two "
    "deployments keep copies up to date. Load is the calls of a deployment and model in a minute over its fair share: "
    "its part of the model’s calls in the log. Divided: every deployment has a part of the memory of its own.",
    population="calls with a session id, of the window or of its busiest hour",
    counts=tuple(
        (f"{base}.{what}", f"calls {of}{budget.STREAMS[base.split('.')[1]]}")
        for base in budget.bases("routing.as_logged")
        for what, of in (("floor", ""), ("load_max", "of a known model "))
    ),
    wording="Sticky routing “pays” when as logged more than a tenth more calls are first touches, else it “gains "
    "little”; under a hundred calls no verdict is given.",
    caution="Counterfactual: nobody routed so. Sticky routing is stickier than a fleet could be, as it knows no load; "
    "the load limit knows how many calls a minute will bring. Moves take no time. What a deployment can take is not in "
    "the log; its fair share is what it took. Calls of unknown model or deployment stay where they are.",
    in_summary=False,
)
