"""How much it matters which hour is replayed (beyond the paper)."""

from __future__ import annotations

from functools import partial

from matplotlib.axes import Axes

from figures import axes, budget, replayed, style
from figures.sentence import Sentence, alike, clause, lacking, say
from figures.source import ResultsLike, Row, known, rows, value_of
from figures.spec import FigureSpec, Panel

MOST_PANELS, MOST_POLICIES, MOST_NAMES = 3, 6, 8
_SUBJECT = "how much it matters which hour is replayed"
_COMPARED = "replay.hours.compared"
_BASES = tuple(f"replay.hours.{objects}{never}" for objects in budget.OBJECTS for never in ("", ".never"))


def _panel(ax: Axes, results: ResultsLike, key: str) -> None:
    data = _chosen(results, key)
    if not data:
        return axes.note(ax, "no hour was replayed")
    hours = list(dict.fromkeys(r["hour"] for r in data))
    for i, policy in enumerate(replayed.ordered(data)[:MOST_POLICIES]):
        rates = {r["hour"]: r["reconstruction_rate"] for r in data if r["policy"] == policy and r["compared"]}
        look = style.series(i)
        ax.plot(
            range(len(hours)),
            [float("nan") if rates.get(hour) is None else rates[hour] for hour in hours],
            color=look.colour,
            linestyle=look.dash,
            marker=look.marker,
            label=replayed.policy(policy),
        )
    for hour in dict.fromkeys(r["hour"] for r in data if r["busiest"]):
        axes.reference(ax, hours.index(hour), "busiest hour", axis="x")
    named = range(0, len(hours), -(-len(hours) // MOST_NAMES))
    ax.set_xticks(list(named), [axes.label(hours[place][11:16]) for place in named])
    ax.set_xlim(-0.6, len(hours) - 0.4)
    ax.set_xlabel(f"hour, from {axes.label(hours[0][:10])}")
    axes.percent_axis(ax.yaxis)
    ax.set_ylabel("calls that rebuild context")
    axes.legend(ax, 3)
    return None


def _chosen(results: ResultsLike, key: str) -> list[Row]:
    """The rows of one kind of object at the budget to speak of; at the first one where LRU was not replayed."""
    data = [r for r in rows(results, "replay_hours") if r["object_key"] == key]
    spoken = budget.spoken(results, _base(results)) or next((_ends(r) for r in data), "")
    return [r for r in data if _ends(r) == spoken]


def _ends(row: Row) -> str:
    """The budget of a row as keys end: `10` or `4.7TB`."""
    label: str = row["budget"]
    return label.removesuffix("%")


def _base(results: ResultsLike) -> str:
    """The beginning of the keys to speak of: the first kind of object that was replayed; else empty."""
    return next((base for base in _BASES if f"{base}.floor" in results.numbers), "")


def _panels(results: ResultsLike) -> tuple[Panel, ...]:
    margins = style.Margins(top=0.83)
    first: dict[str, Row] = {}
    if results.has_table("replay_hours"):
        for row in rows(results, "replay_hours"):
            first.setdefault(row["object_key"], row)
    found = [
        Panel(f"p{i}", _title(row), "replay_hours", partial(_panel, key=key), (), margins)
        for i, (key, row) in enumerate(first.items())
    ]
    empty = Panel(
        "hours",
        "Rate by hour",
        "replay_hours",
        lambda ax, r: axes.note(ax, "no hour was replayed"),
        () if results.has_table("replay_hours") else (_COMPARED,),
        margins,
    )
    return tuple(found[:MOST_PANELS]) or (empty,)


def _title(row: Row) -> str:
    objects = budget.OBJECTS.get(row["object_key"], axes.label(row["object_key"]))
    return f"{objects[0].upper()}{objects[1:]}{'' if row['release'] == 'last' else ', never released'}"


def _headline(results: ResultsLike) -> Sentence:
    base = _base(results)
    chosen = budget.spoken(results, base) if base else ""
    lru = f"{base}.lru.b{chosen}"
    if not chosen or not known(results, _COMPARED):
        keys = [key for key in results.numbers if key.startswith("replay.hours.") and not known(results, key)]
        return lacking(results, _SUBJECT, tuple(keys[:1]))
    rates = f", LRU rebuilds {{{lru}}} of the calls in the middle one of {{{_COMPARED}|hour}}."
    size = budget.size(results, base, chosen)
    return Sentence((f"{_verdict(results, lru)}: with ", *size, *say(results, rates).parts))


def _verdict(results: ResultsLike, lru: str) -> str:
    number = results.numbers[lru]
    if value_of(results, _COMPARED) < 2:
        return "There is no other hour to compare with"
    if number.lo is None or number.hi is None:
        return "Hours differ"
    apart = number.hi - number.lo
    if apart < 0.05:
        return "The choice of the hour hardly matters"
    return "The choice of the hour matters much" if apart >= 0.15 else "The choice of the hour matters somewhat"


def _detail(results: ResultsLike) -> Sentence:
    base = _base(results)
    lru = f"{base}.lru.b{budget.spoken(results, base) if base else ''}"
    busiest = lru.replace("replay.hours.", "replay.busiest-hour.")
    if alike(results, lru, busiest):
        return Sentence()
    return clause(results, f"In the busiest hour it is {{{busiest}}}.")


FIGURE = FigureSpec(
    name="fig11e",
    paper="beyond Fig. 11",
    question="How much does it matter which hour is replayed?",
    kind="replayed",
    tables=("replay_hours",),
    keys=(_COMPARED, *(f"{base}.{what}" for base in _BASES for what in ("floor", "kstar_bytes", "lru.b10"))),
    needs=(),
    subject=_SUBJECT,
    panels=_panels,
    headline=_headline,
    detail=_detail,
    definition="Every clock hour is replayed by itself, starting empty, as the busiest hour is. Budgets in percent are "
    "shares of what the hour itself would hold; amounts are the same for every hour. A number is that of the middle "
    "hour, the nearest-rank median, and beside it stand the least and the most of all hours.",
    population="clock hours with a hundred sessioned calls, of the window or, where it has more than twenty-four, of "
    "the clock day of its busiest hour",
    counts=((_COMPARED, "clock hours"), *((f"{base}.floor", "clock hours with a hundred calls") for base in _BASES)),
    wording="The hour “hardly matters” when LRU’s rates of all hours lie within five points, it matters “much” when "
    "they lie fifteen points or more apart. The budget is that of the sentence on the busiest hour.",
    caution="An hour at the edge of the window may be covered in part. A session that goes on from one hour to the "
    "next is new in each, so its first call there counts as a first touch. Hours of one day are not independent, and "
    "other days are not here.",
    in_summary=False,
    asked_by="replay.hours.",
)
