"""What holding every live session would take, hour by hour (paper section 4.2)."""

from __future__ import annotations

from datetime import datetime, timedelta

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from figures import axes, geometry, style
from figures.sentence import Sentence, clause, say
from figures.source import ResultsLike, Row, rows, value_of
from figures.spec import FigureSpec, Panel
from figures.units import format_value

_HEADROOM = 1.06  # height of the axes, in peaks


def _hours(data: list[Row]) -> list[float]:
    """Hours since the first one, on the clock of the window."""
    starts = [datetime.fromisoformat(r["hour"]) for r in data]
    return [(s - starts[0]).total_seconds() / 3600 for s in starts]


def _end(hours: list[float]) -> float:
    """Where the last step ends: it is as long as the one before (rows may stand for several hours)."""
    return hours[-1] + (hours[-1] - hours[-2] if len(hours) > 1 else 1)


def _hour_axis(ax: Axes, data: list[Row], hours: list[float]) -> None:
    """Ticks at midnights where the window spans days, else every few hours of the day."""
    start = datetime.fromisoformat(data[0]["hour"])
    span = _end(hours)
    ax.set_xlim(0, span)
    if span > 48:
        days = int(span // 24) + 1
        every = -(-days // 6)
        ticks = [d * 24.0 - start.hour for d in range(0, days + 1, every) if 0 <= d * 24 - start.hour <= span]
        names = [f"{d:%b} {d.day}" for d in (start + timedelta(hours=t) for t in ticks)]
        ax.set_xlabel("day (tick at midnight)")
    else:
        every = max(1, round(span / 6))
        ticks = [float(h) for h in range(0, int(span) + 1, every)]
        names = [f"{start + timedelta(hours=t):%H}h" for t in ticks]
        ax.set_xlabel(f"hour, from {start:%b} {start.day}")
    ax.set_xticks(ticks, names)


def _steps(ax: Axes, results: ResultsLike, field: str) -> list[Row]:
    data = [r for r in rows(results, "ceiling_by_hour") if r["hour"] and r[field] is not None]
    if not data:
        axes.note(ax, "no session is live")
        return data
    hours = _hours(data)
    look = style.series(0 if field == "peak_bytes" else 2)
    heights = [r[field] for r in data]
    ax.fill_between(
        [*hours, _end(hours)],
        [*heights, heights[-1]],
        step="post",
        color=look.colour,
        alpha=style.BAND,
        linewidth=0,
    )
    ax.plot(
        [*hours, _end(hours)],
        [*heights, heights[-1]],
        drawstyle="steps-post",
        color=look.colour,
        linewidth=1.5,
    )
    _hour_axis(ax, data, hours)
    ax.set_ylim(0, (max(heights) or 1) * _HEADROOM)
    return data


def _bytes(ax: Axes, results: ResultsLike) -> None:
    if not _steps(ax, results, "peak_bytes"):
        return
    axes.bytes_axis(ax.yaxis)
    ax.set_ylabel("KV held")
    peak, usual = (value_of(results, f"ceiling.{k}") for k in ("hold_all_live_bytes", "time_p50_bytes"))
    if peak:
        ax.set_ylim(0, max(ax.get_ylim()[1], peak * _HEADROOM))
        axes.reference(ax, peak, f"exact peak {format_value(peak, 'bytes')}")
    if usual:
        axes.reference(ax, usual, f"half of the time below {format_value(usual, 'bytes')}", dash=style.DASHES[2])
    axes.legend(ax, 1)


def _sessions(ax: Axes, results: ResultsLike) -> None:
    if not _steps(ax, results, "peak_sessions"):
        return
    ax.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.count_axis(ax.yaxis)
    ax.set_ylabel("live sessions")
    peak = value_of(results, "ceiling.peak_sessions")
    if peak:
        ax.set_ylim(0, max(ax.get_ylim()[1], peak * _HEADROOM))
        axes.reference(ax, peak, f"peak {format_value(peak, 'sessions')}")
    axes.legend(ax, 1)


def _headline(results: ResultsLike) -> Sentence:
    start = say(
        results,
        "Holding every session from its first to its last call would take {ceiling.hold_all_live_bytes} at the peak",
    )
    end = say(results, "; at most {ceiling.peak_sessions|session} live at once.")
    return Sentence((*start.parts, *geometry.holding(results, "ceiling.hold_all_live_bytes"), *end.parts))


def _detail(results: ResultsLike) -> Sentence:
    found = Sentence()
    peak, usual = (value_of(results, f"ceiling.{k}") for k in ("hold_all_live_bytes", "time_p50_bytes"))
    if peak and usual is not None:
        word = (
            "The load is steady"
            if usual >= 0.75 * peak
            else "The load is peaky"
            if usual < 0.4 * peak
            else "The load rises and falls"
        )
        found += say(results, f"{word}: half of the time {{ceiling.time_p50_bytes}} would do.")
    duty = value_of(results, "ceiling.duty_cycle")
    if duty is not None:
        word = "mostly idle" if duty < 0.5 else "mostly busy"
        found += say(
            results,
            f"What is held is {word}: a call runs during {{ceiling.duty_cycle}} of the "
            f"time that "
            "sessions are resident.",
        )
    return found + clause(
        results, "Counted in bins of an hour, the peak would read {ceiling.hour_bins_bytes}."
    )


FIGURE = FigureSpec(
    name="fig07b",
    paper="Section 4.2",
    question="What would it take to hold every live session?",
    kind="estimated",
    tables=("ceiling_by_hour",),
    keys=(
        "ceiling.hold_all_live_bytes",
        "ceiling.peak_sessions",
        "ceiling.minute_bins_bytes",
        "ceiling.hour_bins_bytes",
        "ceiling.time_p50_bytes",
        "ceiling.time_p95_bytes",
        "ceiling.time_p99_bytes",
        "ceiling.duty_cycle",
        "ceiling.duty_cycle.coverage",
    ),
    needs=("ceiling.hold_all_live_bytes", "ceiling.peak_sessions"),
    subject="what it would take to hold every live session",
    panels=(
        Panel(
            "bytes",
            "Largest KV held in each hour",
            "ceiling_by_hour",
            _bytes,
            ("ceiling.hold_all_live_bytes",),
            style.Margins(left=0.175, top=0.86),
        ),
        Panel(
            "sessions",
            "Most sessions live in each hour",
            "ceiling_by_hour",
            _sessions,
            ("ceiling.peak_sessions",),
            style.Margins(left=0.175, top=0.86),
        ),
    ),
    headline=_headline,
    detail=_detail,
    definition="Hold-all-live: a session keeps its peak KV from its first to its last call in the window, "
    "ends included. The peak is exact, by a sweep over arrivals and departures.",
    population="sessions of the window",
    counts=(
        ("ceiling.hold_all_live_bytes", "sessions"),
        ("ceiling.duty_cycle", "sessions whose calls all report a duration"),
    ),
    wording="“Steady” when half of the time needs three quarters of the peak or more, “peaky” when under two "
    "fifths.",
    caution="A deliberate upper bound: a session is charged its largest context even before it reached it. "
    "Sessions cut by the window are held for less time than they live. The peak of bytes and the "
    "peak of sessions need not fall on the same moment.",
)
