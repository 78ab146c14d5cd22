"""What becomes of Spine reuse after calls to other classes (paper figure 5)."""

from __future__ import annotations

from functools import partial

from matplotlib.axes import Axes

from figures import axes, names, style
from figures.sentence import Sentence, clause, say
from figures.source import ResultsLike, rows, value_of
from figures.spec import FigureSpec, Panel
from figures.units import format_value

_TITLES = {
    "all": "Reuse by calls since the last Spine call",
    "gap": "The same, by time since the last one",
    "placement": "The same, by move of deployment",
}


def _bars(ax: Axes, results: ResultsLike) -> None:
    data = [r for r in rows(results, "excursion_reuse") if r["split"] == "all"]
    if not data:
        return axes.note(ax, "no Spine call follows another one")
    look = style.series(0)
    for place, row in zip(axes.categories(ax, [r["excursion"] for r in data]), data, strict=True):
        if row["mean_reuse"] is None:
            ax.text(place, 0.02, "none", ha="center", va="bottom", fontsize=8, color=style.MUTED)
            continue
        ax.bar(place, row["mean_reuse"], 0.62, color=look.colour, alpha=0.85)
        ax.text(
            place,
            row["mean_reuse"] + 0.015,
            format_value(row["mean_reuse"], "share"),
            ha="center",
            va="bottom",
            fontsize=8.5,
            gid="halo",
        )
    _axes(ax)
    ax.set_ylim(0, 1.12)
    return None


def _lines(ax: Axes, results: ResultsLike, split: str) -> None:
    data = [
        r for r in rows(results, "excursion_reuse") if r["split"] == split and r["mean_reuse"] is not None
    ]
    if not data:
        return axes.note(ax, "no Spine call follows another one")
    lengths = list(dict.fromkeys(r["excursion"] for r in data))
    at = dict(zip(lengths, axes.categories(ax, lengths), strict=True))
    ends = []
    _axes(ax)
    for i, band in enumerate(dict.fromkeys(r["band"] for r in data)):
        points = [(at[r["excursion"]], r["mean_reuse"]) for r in data if r["band"] == band]
        look = style.series(i)
        ax.plot(
            [x for x, _ in points],
            [y for _, y in points],
            color=look.colour,
            linestyle=look.dash,
            marker=look.marker,
        )
        ends.append((len(lengths) - 1, points[-1][1], f"{style.glyph(i)} {names.transition(band)}"))
    ax.set_xlim(-0.2, len(lengths) - 0.8)
    axes.end_labels(ax, ends)
    return None


def _axes(ax: Axes) -> None:
    ax.set_xlabel("calls to other classes in between")
    ax.set_ylabel("mean reuse")
    axes.percent_axis(ax.yaxis)


def _panels(results: ResultsLike) -> tuple[Panel, ...]:
    keys = ("excursion.reuse_0", "excursion.reuse_1")
    found = [Panel("all", _TITLES["all"], "excursion_reuse", _bars, keys)]
    present = set()
    if results.has_table("excursion_reuse"):
        present = {r["split"] for r in rows(results, "excursion_reuse")}
    found += [
        Panel(
            split,
            _TITLES[split],
            "excursion_reuse",
            partial(_lines, split=split),
            keys,
            style.Margins(right=0.69),
        )
        for split in ("gap", "placement")
        if split in present
    ]
    return tuple(found)


def _headline(results: ResultsLike) -> Sentence:
    change = value_of(results, "excursion.reuse_1") - value_of(results, "excursion.reuse_0")
    word = (
        "falls sharply"
        if change <= -0.2
        else "falls somewhat"
        if change <= -0.05
        else "rises"
        if change >= 0.05
        else "hardly changes"
    )
    return say(
        results,
        f"Spine reuse {word} after an excursion: {{excursion.reuse_0}} between consecutive "
        f"Spine calls, "
        "{excursion.reuse_1} after one call to another class.",
    )


def _detail(results: ResultsLike) -> Sentence:
    return clause(results, "After three or more such calls it is {excursion.reuse_3plus}.")


FIGURE = FigureSpec(
    name="fig05",
    paper="Fig. 5",
    question="Does reuse survive an excursion to other models?",
    kind="measured",
    tables=("excursion_reuse",),
    keys=("excursion.reuse_0", "excursion.reuse_1", "excursion.reuse_2", "excursion.reuse_3plus"),
    needs=("excursion.reuse_0", "excursion.reuse_1"),
    subject="whether reuse survives an excursion to other models",
    panels=_panels,
    headline=_headline,
    detail=_detail,
    definition="For every Spine call after the first of its session: its reuse, by the number of non-Spine "
    "calls since the Spine call before it.",
    population="Spine calls after the first of their session, with cached tokens reported",
    wording="“Sharply” is by twenty points or more from no to one call in between, “hardly” is under five.",
    caution="An association, not an effect: longer excursions also take longer and move more often. The "
    "panels by time and by move hold one of the two still, not both.",
    in_summary=False,
)
