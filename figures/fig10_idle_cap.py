"""What an idle cap saves, and what it costs in reconstruction (paper figure 10)."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from figures import axes, style
from figures.sentence import Sentence, alike, say
from figures.source import ResultsLike, Row, known, rows, value_of
from figures.spec import FigureSpec, Panel
from figures.units import short_bytes


def _caps(ax: Axes, results: ResultsLike) -> tuple[list[Row], list[int]]:
    """Rows by increasing cap, evenly spaced; the one without a cap last."""
    data = sorted(rows(results, "idle_cap"), key=lambda r: (r["theta_s"] is None, r["theta_s"] or 0))
    if not data:
        axes.note(ax, "no idle cap was tried")
        return [], []
    ax.set_xlabel("state is dropped after so long without a call")
    return data, axes.categories(ax, ["never" if r["theta_s"] is None else r["theta"] for r in data])


def _ceiling(ax: Axes, results: ResultsLike) -> None:
    data, places = _caps(ax, results)
    if not data:
        return
    look = style.series(0)
    ax.bar(places, [r["ceiling_bytes"] or 0 for r in data], 0.62, color=look.colour, alpha=0.85)
    for place, row in zip(places, data, strict=True):
        ax.annotate(
            short_bytes(row["ceiling_bytes"] or 0),
            (place, row["ceiling_bytes"] or 0),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=7.5,
            gid="halo",
        )
    ax.set_ylim(0, max([r["ceiling_bytes"] or 0 for r in data] + [1]) * 1.14)
    axes.bytes_axis(ax.yaxis)
    ax.set_ylabel("KV held at the peak")


def _rates(ax: Axes, results: ResultsLike) -> None:
    data, places = _caps(ax, results)
    if not data:
        return
    axes.percent_axis(ax.yaxis)
    for i, (field, name) in enumerate((("reconstruction", "calls rebuilt"), ("duty_cycle", "duty cycle"))):
        points = [(p, r[field]) for p, r in zip(places, data, strict=True) if r[field] is not None]
        if not points:
            continue
        look = style.series(i)
        ax.plot(
            [x for x, _ in points],
            [y for _, y in points],
            color=look.colour,
            linestyle=look.dash,
            marker=look.marker,
            label=name,
        )
    ax.set_xlim(-0.35, len(places) - 0.65)
    ax.set_ylabel("share")
    axes.legend(ax, 2)


def _added(ax: Axes, results: ResultsLike) -> None:
    data, places = _caps(ax, results)
    split = [r for r in data if r["added_intra_points"] is not None and r["added_inter_points"] is not None]
    if not data:
        return
    if not split:
        axes.note(ax, "turns are not known: the added calls cannot be split")
        return
    floor = [0.0] * len(data)
    for i, (field, name) in enumerate(
        (("added_inter_points", "wait between turns"), ("added_intra_points", "wait within a turn"))
    ):
        look = style.series(i)
        heights = [r[field] or 0 for r in data]
        ax.bar(
            places,
            heights,
            0.62,
            bottom=floor,
            color=look.colour,
            alpha=0.85,
            hatch=look.hatch,
            linewidth=0,
            edgecolor=style.BACKGROUND if look.hatch else look.colour,
            label=name,
        )
        floor = [low + high for low, high in zip(floor, heights, strict=True)]  # where the next bar stands
    ax.set_ylim(0, max(max(floor) * 1.1, 1e-9))
    ax.yaxis.set_major_locator(MaxNLocator(5))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"+{v:g}" if v else "0"))
    ax.set_ylabel("percentage points added")
    axes.legend(ax, 2)


def _headline(results: ResultsLike) -> Sentence:
    factor = value_of(results, "idle_cap.1h.reduction")
    word = "saves much" if factor >= 2 else "saves something" if factor >= 1.2 else "saves little here"
    peak = "is {idle_cap.1h.ceiling_bytes}"
    if alike(results, "idle_cap.1h.ceiling_bytes", "idle_cap.inf.ceiling_bytes"):
        peak = "stays at {idle_cap.1h.ceiling_bytes}"
    elif known(results, "idle_cap.inf.ceiling_bytes"):
        peak += " instead of {idle_cap.inf.ceiling_bytes}"
    times = ", {idle_cap.1h.reduction} less" if factor >= 1.2 else ""
    cost = ""
    if alike(results, "idle_cap.1h.reconstruction", "idle_cap.inf.reconstruction"):
        cost = ", as many as without a cap"
    elif known(results, "idle_cap.inf.reconstruction"):
        cost = ", against {idle_cap.inf.reconstruction} without a cap"
    return say(
        results,
        f"An idle cap of one hour {word}: the peak {peak}{times}, and {{idle_cap.1h.reconstruction}} of the calls "
        f"rebuild their context{cost}.",
    )


def _detail(results: ResultsLike) -> Sentence:
    found = Sentence()
    one, fifteen = (value_of(results, f"idle_cap.{theta}.reconstruction") for theta in ("1m", "15m"))
    if one is None or fifteen is None:
        return found
    verb = "bites into the work" if one > 1.5 * fifteen else "costs little more"
    return found + say(
        results,
        f"A cap of one minute {verb}: {{idle_cap.1m.reconstruction}} of the calls, "
        f"against "
        "{idle_cap.15m.reconstruction} at fifteen minutes.",
    )


_KEYS = tuple(
    f"idle_cap.{theta}.{what}"
    for theta in ("1m", "5m", "15m", "1h", "6h", "1d", "inf")
    for what in ("reconstruction", "ceiling_bytes", "reduction")
)

FIGURE = FigureSpec(
    name="fig10",
    paper="Fig. 10",
    question="What does it save to drop idle state, and what does it cost?",
    kind="replayed",
    tables=("idle_cap",),
    keys=_KEYS,
    needs=("idle_cap.1h.reduction", "idle_cap.1h.ceiling_bytes", "idle_cap.1h.reconstruction"),
    subject="what an idle cap of one hour saves",
    panels=(
        Panel("ceiling", "Peak of the KV held", "idle_cap", _ceiling, _KEYS, style.Margins(left=0.175)),
        Panel(
            "rates",
            "Calls rebuilt, and share of time in use",
            "idle_cap",
            _rates,
            _KEYS,
            style.Margins(top=0.885),
        ),
        Panel(
            "added",
            "Rebuilt calls that the cap adds",
            "idle_cap",
            _added,
            _KEYS,
            style.Margins(top=0.885),
        ),
    ),
    headline=_headline,
    detail=_detail,
    definition="A session is split into runs at its gaps longer than the cap. A run is held at the session's "
    "peak KV from its first call until the cap has passed after its last one, the session's last run until "
    "its last call; each run rebuilds its context once. Duty cycle: share of the time held during which a call "
    "runs.",
    population="sessions and calls of the window with a session id",
    counts=(
        ("idle_cap.inf.reconstruction", "calls with a session id"),
        ("idle_cap.inf.ceiling_bytes", "sessions"),
    ),
    wording="“Much” is half of the peak or more, “little” under a sixth. “Bites” is over one and a half "
    "times the rate at fifteen minutes.",
    caution="The calls are replayed as they were: users and agents would not wait differently. First calls "
    "count as rebuilt even where the session began before the window.",
)
