"""What becomes of Spine reuse after calls to other classes (paper figure 5)."""

from __future__ import annotations

from functools import partial

from matplotlib.axes import Axes

from figures import axes, names, style
from figures.sentence import Sentence, clause, say
from figures.source import ResultsLike, few, rows, value_of
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
        ax.bar(place, row["mean_reuse"], 0.62, **axes.bar_look(look, row["calls"]))
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
    axes.few_legend(ax, [r["calls"] for r in data if r["mean_reuse"] is not None])
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
        points = [(at[r["excursion"]], r["mean_reuse"], r["calls"]) for r in data if r["band"] == band]
        axes.line(ax, points, style.series(i))
        ends.append((len(lengths) - 1, points[-1][1], f"{style.glyph(i)} {names.transition(band)}"))
    ax.set_xlim(-0.2 if len(lengths) > 1 else -1.2, len(lengths) - 0.8)  # names stand behind the last place
    axes.end_labels(ax, ends)
    axes.few_legend(ax, [r["calls"] for r in data])
    return None


def _axes(ax: Axes) -> None:
    ax.set_xlabel("calls to other classes in between")
    ax.set_ylabel("mean reuse")
    axes.percent_axis(ax.yaxis)


def _panels(results: ResultsLike) -> tuple[Panel, ...]:
    keys = ("excursion.reuse_0", "excursion.reuse_1")
    data = rows(results, "excursion_reuse") if results.has_table("excursion_reuse") else []
    present = {r["split"] for r in data}
    top = axes.few_top([r["calls"] for r in data if r["mean_reuse"] is not None])
    found = [Panel("all", _TITLES["all"], "excursion_reuse", _bars, keys, style.Margins(top=top))]
    found += [
        Panel(
            split,
            _TITLES[split],
            "excursion_reuse",
            partial(_lines, split=split),
            keys,
            style.Margins(right=0.69, top=top),
        )
        for split in ("gap", "placement")
        if split in present
    ]
    return tuple(found)


def _headline(results: ResultsLike) -> Sentence:
    if few(results, "excursion.reuse_0", "excursion.reuse_1"):
        return say(
            results,
            "Too few calls tell what an excursion does: reuse is {excursion.reuse_0} between consecutive Spine "
            "calls, {excursion.reuse_1} after one call to another class.",
        )
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
    counts=(
        ("excursion.reuse_0", "Spine calls that follow a Spine call"),
        ("excursion.reuse_1", "Spine calls after one call to another class"),
        ("excursion.reuse_2", "Spine calls after two of them"),
        ("excursion.reuse_3plus", "Spine calls after three or more"),
    ),
    wording="“Sharply” is by twenty points or more from no to one call in between, “hardly” is under five. "
    f"“Too few”, and what is hollow: the mean of fewer than {style.FEW} calls. Read nothing into it.",
    caution="An association, not an effect: longer excursions also take longer and move more often. The "
    "panels by time and by move hold one of the two still, not both.",
    in_summary=False,
)
