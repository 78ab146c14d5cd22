"""Which model class holds the context, and which class comes next (paper figure 4)."""

from __future__ import annotations

from functools import partial

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from figures import axes, style
from figures.sentence import Sentence, alike, clause, say
from figures.source import ResultsLike, known, rows, value_of
from figures.spec import FigureSpec, Panel
from figures.units import format_value

_KEY = "class_share.{}.spine"


def _shares(ax: Axes, results: ResultsLike, mapping: str) -> None:
    data = [r for r in rows(results, "class_share") if r["mapping"] == mapping]
    if not data:
        return axes.note(ax, f"no rows for the {axes.label(mapping)} mapping")
    places = axes.categories(ax, [r["class"] for r in data], axis="y")
    drawn = [
        (name, field)
        for name, field in (("context", "context_share"), ("uncached", "uncached_share"))
        if any(r[field] is not None for r in data)
    ]
    height = 0.76 / max(1, len(drawn))
    for i, (name, field) in enumerate(drawn):
        look = style.series(i)
        for place, row in zip(places, data, strict=True):
            if row[field] is None:
                continue
            y = place + (i - (len(drawn) - 1) / 2) * height
            ax.barh(
                y,
                row[field],
                height * 0.92,
                color=look.colour,
                alpha=0.85,
                hatch=look.hatch,
                edgecolor=style.BACKGROUND if look.hatch else look.colour,
                linewidth=0,
            )
            ax.text(
                row[field] + 0.015,
                y,
                f"{format_value(row[field], 'share')} {name}",
                va="center",
                fontsize=8,
                gid="halo",
            )
    axes.percent_axis(ax.xaxis)
    ax.set_xlim(0, 1.42)  # room for the words behind a full bar
    ax.set_xlabel("share of tokens")
    return None


def _matrix(ax: Axes, results: ResultsLike, mapping: str) -> None:
    data = [r for r in rows(results, "class_transition") if r["mapping"] == mapping]
    if not data:
        return axes.note(ax, "no transitions between classified calls")
    names = list(dict.fromkeys([r["from_class"] for r in data] + [r["to_class"] for r in data]))
    at = {name: i for i, name in enumerate(names)}
    for row in data:
        x, y, p = at[row["to_class"]], at[row["from_class"]], row["probability"]
        if p is None:
            continue
        # Opacity, not a colour map: one hue that works on a dark page, and the number says the rest.
        ax.add_patch(
            Rectangle(
                (x - 0.5, y - 0.5), 1, 1, facecolor=style.COLOURS[0], alpha=min(1.0, p) * 0.55, linewidth=0
            )
        )
        ax.text(x, y, format_value(p, "share"), ha="center", va="center", fontsize=8)
    shown = [axes.label(name, 10) for name in names]
    ax.set_xticks(range(len(names)), shown)
    ax.set_yticks(range(len(names)), shown)
    ax.set_xlim(-0.5, len(names) - 0.5)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(visible=False)
    ax.tick_params(length=0)
    ax.set_xlabel("class of the next call")
    ax.set_ylabel("class of the call")
    return None


def _panels(results: ResultsLike) -> tuple[Panel, ...]:
    mappings = (
        list(dict.fromkeys(r["mapping"] for r in rows(results, "class_share")))
        if results.has_table("class_share")
        else ["conservative"]
    )
    shares = tuple(
        Panel(
            f"shares-{i}",
            f"Context by class, {axes.label(m)} mapping",
            "class_share",
            partial(_shares, mapping=m),
            (_KEY.format(m),),
            style.Margins(left=0.17),
        )
        for i, m in enumerate(mappings[:2])
    )
    first = mappings[0] if mappings else "conservative"
    matrix = Panel(
        "matrix",
        f"Class of the next call, {axes.label(first)} mapping",
        "class_transition",
        partial(_matrix, mapping=first),
        ("class.transitions", "class.next_accuracy"),
        style.Margins(left=0.2),
    )
    return (*shares, matrix)


def _headline(results: ResultsLike) -> Sentence:
    if (value_of(results, "class_share.conservative.unknown") or 0) > 0.5:
        return say(
            results,
            "Most context cannot be given to a class: {class_share.conservative.unknown} "
            "belongs to calls without a model name.",
        )
    spine = value_of(results, "class_share.conservative.spine")
    broad = (
        " ({class_share.broad.spine} under the broad mapping)"
        if known(results, "class_share.broad.spine")
        and not alike(results, "class_share.broad.spine", "class_share.conservative.spine")
        else ""
    )
    if spine > 0.5:
        return say(
            results,
            "One class holds most of the context: Spine carries "
            f"{{class_share.conservative.spine}} of it{broad}.",
        )
    for name in ("mid", "scoped", "fanout"):
        if (value_of(results, f"class_share.conservative.{name}") or 0) > 0.5:
            return say(
                results,
                f"{name.capitalize()}, not Spine, holds most of the context: "
                f"{{class_share.conservative.{name}}}, against "
                f"{{class_share.conservative.spine}} in Spine{broad}.",
            )
    return say(
        results,
        f"No class holds most of the context: Spine carries {{class_share.conservative.spine}} of it{broad}.",
    )


def _detail(results: ResultsLike) -> Sentence:
    found = Sentence()
    spine = value_of(results, "class_share.conservative.spine")
    uncached = value_of(results, "class_share.uncached.conservative.spine")
    if spine and uncached is not None:
        if uncached < spine:
            found += say(
                results,
                "Spine is only {class_share.uncached.conservative.spine} of what had to be "
                "prefilled: its context is reused more than the rest.",
            )
        else:
            found += say(
                results,
                "Spine is even {class_share.uncached.conservative.spine} of what had to be "
                "prefilled: its context is not reused more than the rest.",
            )
    accuracy = value_of(results, "class.next_accuracy")
    if accuracy is not None:
        start = (
            "The class of the next call is easily foretold"
            if accuracy >= 0.8
            else "The class of the next call is hard to foretell"
            if accuracy < 0.6
            else "The class of the next call can often be foretold"
        )
        found += say(
            results,
            f"{start}: naming the most frequent successor is right in "
            f"{{class.next_accuracy}} of "
            "the transitions.",
        )
    return found + clause(
        results, "A Spine call is followed by another one in {class.spine_self} of the cases."
    )


FIGURE = FigureSpec(
    name="fig04",
    paper="Fig. 4",
    question="Does one class of models hold most of the context?",
    kind="measured",
    tables=("class_share", "class_transition"),
    keys=(
        "class_share.conservative.spine",
        "class_share.broad.spine",
        "class_share.uncached.conservative.spine",
        "class.next_accuracy",
        "class.spine_self",
        "class.transitions",
    ),
    needs=("class_share.conservative.spine",),
    subject="which model class holds the context",
    panels=_panels,
    headline=_headline,
    detail=_detail,
    definition="Every call's context is summed over the calls of its class, so context that ten calls carry "
    "counts ten times; uncached context is what the prefix cache did not hold. Classes are given "
    "by substring rules on model names: the conservative mapping puts reasoning models in Mid, "
    "the broad one in Spine.",
    population="all calls for context; calls with a session id for uncached context and transitions",
    counts=(
        ("class_share.conservative.spine", "calls"),
        ("class_share.uncached.conservative.spine", "calls with a session id that report cached tokens"),
        ("class.next_accuracy", "pairs of consecutive calls with model names"),
        ("class.spine_self", "those of them that begin at a Spine call"),
    ),
    wording="“Most” is over half. “Easily” from four fifths of the transitions, “hard” below three fifths.",
    caution="The classes are as good as the substring rules: a renamed model changes them. A call whose "
    "model is not known is in class unknown and in no transition.",
)
