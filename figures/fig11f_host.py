"""What a host tier moves to keep calls from rebuilding their context (paper 5.3)."""

from __future__ import annotations

from functools import partial

from matplotlib.axes import Axes

from figures import axes, budget, replayed, style
from figures.sentence import Sentence, clause, lacking, say, text
from figures.source import ResultsLike, Row, known, rows, value_of
from figures.spec import FigureSpec, Panel

MOST_PANELS, MOST_POLICIES = 3, 6
_SUBJECT = "what a host tier would move"
#: Policy -> the words for its tier in a sentence, and in a legend.
_POLICIES = {
    "mrr_host_1": ("a tier as large", "tier as large"),
    "mrr_host_2": ("a tier twice as large", "twice as large"),
    "mrr_host_4": ("a tier four times as large", "four times"),
    "mrr_unbounded": ("a tier that never fills", "never fills"),
}
#: A choice: about what a GPU's link to its host carries one way (PCIe x16).
_FAST = 25e9


def _panel(ax: Axes, results: ResultsLike, cell: tuple[str, str, str]) -> None:
    data = [r for r in rows(results, "replay_bytes") if replayed.cell(r) == cell]
    if not data:
        return axes.note(ax, "nothing was moved")
    field = replayed.budget_field(data)
    for i, policy in enumerate(dict.fromkeys(r["policy"] for r in data)):
        if i == MOST_POLICIES:
            break
        points = sorted(
            (r[field], r["moved_bytes_per_s"])
            for r in data
            if r["policy"] == policy and r["moved_bytes_per_s"] is not None and r[field]
        )
        look = style.series(i)
        ax.plot(
            [x for x, _ in points],
            [y for _, y in points],
            color=look.colour,
            linestyle=look.dash,
            marker=look.marker,
            label=_POLICIES[policy][1] if policy in _POLICIES else axes.label(policy),
        )
    replayed.budget_axis(ax, data, None)
    axes.bytes_axis(ax.yaxis)
    ax.set_ylim(bottom=0)
    ax.set_ylabel("moved a second, both ways")
    axes.legend(ax, 2)
    return None


def _panels(results: ResultsLike) -> tuple[Panel, ...]:
    margins = style.Margins(left=0.18, bottom=0.235, top=0.83)
    first: dict[tuple[str, str, str], Row] = {}
    if results.has_table("replay_bytes"):
        for row in rows(results, "replay_bytes"):
            first.setdefault(replayed.cell(row), row)
    found = [
        Panel(f"p{i}", replayed.title(row), "replay_bytes", partial(_panel, cell=cell), (), margins)
        for i, (cell, row) in enumerate(first.items())
    ]
    empty = Panel(
        "host",
        "Bytes moved",
        "replay_bytes",
        lambda ax, r: axes.note(ax, "nothing was moved"),
        () if results.has_table("replay_bytes") else tuple(_nulls(results)[:1]),
        margins,
    )
    return tuple(found[:MOST_PANELS]) or (empty,)


def _nulls(results: ResultsLike) -> list[str]:
    return [key for key in results.numbers if ".moved_bytes_per_s." in key and not known(results, key)]


def _spoken(results: ResultsLike) -> tuple[str, str, str]:
    """The beginning of the keys to speak of, the policy and the budget; empty where no host tier was replayed."""
    base = budget.subject(results)
    chosen = budget.spoken(results, base) if base else ""
    for policy in _POLICIES if chosen else ():
        if known(results, f"{base}.moved_bytes_per_s.{policy}.b{chosen}", f"{base}.{policy}.b{chosen}"):
            return base, policy, chosen
    return "", "", ""


def _headline(results: ResultsLike) -> Sentence:
    base, policy, chosen = _spoken(results)
    if not base:
        nulls = _nulls(results)
        if nulls:
            return lacking(results, _SUBJECT, tuple(nulls[:1]))
        return _fetched(results) or Sentence(
            text("No policy with a host tier was replayed, so what it would move is not known.").parts, missing=True)
    moved = f"{base}.moved_bytes_per_s.{policy}.b{chosen}"
    verdict = "Much moves" if value_of(results, moved) >= _FAST else "Little moves"
    rest = say(
        results,
        f" and {_POLICIES[policy][0]} for compressed copies in host memory, {{{base}.{policy}.b{chosen}}} of the calls "
        f"{budget.STREAMS[base.split('.')[1]]} rebuild their context, and {{{moved}}} move on average.",
    )
    return Sentence((f"{verdict}: with ", *budget.size(results, base, chosen), *rest.parts))


def _detail(results: ResultsLike) -> Sentence:
    base, policy, chosen = _spoken(results)
    if not base:
        return Sentence()
    down, up = (f"{base}.{way}_bytes_per_s.{policy}.b{chosen}" for way in ("down", "up"))
    moved = clause(results, f"Of these {{{down}}} go down to the tier and {{{up}}} come back.")
    return moved + _fetched(results)


def _fetched(results: ResultsLike) -> Sentence:
    """What was measured of the gaps, whatever was replayed."""
    return clause(
        results,
        "In {fetch.25gb.gap_share} of the gaps between the calls of a session there was time to fetch its whole KV, "
        "not compressed, over twenty-five gigabytes a second, and in {fetch.1gb.gap_share} over a single one.",
    )


_MOVED = tuple(
    f"{base}.{way}_bytes_per_s.{policy}.b10"
    for objects in budget.OBJECTS
    for base in budget.bases(objects)
    for policy in _POLICIES
    for way in ("moved", "down", "up")
)

FIGURE = FigureSpec(
    name="fig11f",
    paper="Section 5.3",
    question="What does a host tier move to keep calls from rebuilding their context?",
    kind="replayed",
    tables=("replay_bytes", "fetch"),
    keys=(*_MOVED, "fetch.25gb.gap_share", "fetch.1gb.gap_share"),
    needs=(),
    subject=_SUBJECT,
    panels=_panels,
    headline=_headline,
    detail=_detail,
    definition="GPU memory of the budget holds fp16 alone; what it cannot hold goes to host memory as an int4 copy, a "
    "quarter of its size, and comes back when it is called. Both ways are counted, over the seconds of the stream. The "
    "tier is a multiple of the budget, or never fills.",
    population="calls with a session id, of the window or of its busiest hour; of the sampled sessions, where a sample "
    "was asked for",
    counts=(
        *((key, f"calls {budget.STREAMS[key.split('.')[1]]}") for key in _MOVED),
        ("fetch.25gb.gap_share", "gaps between calls of a session"),
    ),
    wording="“Much” moves from twenty-five gigabytes a second on, about what the link of one GPU to its host carries; "
    "the traffic is that of the whole fleet.",
    caution="Counterfactual: nobody ran these policies. Averages over the stream: peaks are higher. Moves take no time "
    "in the replay. Policies with a host tier are replayed where --policies names them, such as mrr_host_2.",
    in_summary=False,
)
