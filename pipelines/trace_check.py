"""Published against generated: every number that the source of a profile prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from pipelines.markdown import aligned
from pipelines.published import Order, Printed, Published

__all__ = ["Checked", "check_numbers", "check_table", "residual_notes", "small_fleet_note"]

_HELD, _KNOWN, _FAILED = "ok", "residual", "FAILS"
_ENOUGH = 50_000  # sessions


@dataclass(frozen=True)
class Checked:
    """One line of the check.

    Attributes
    ----------
    verdict : str
        `ok`, `residual` (known, within its limit) or `FAILS`.
    """

    tier: int
    key: str
    published: str
    generated: str
    off: str
    within: str
    verdict: str
    source: str
    why: str = ""

    @property
    def failed(self) -> bool:
        return self.verdict == _FAILED


def check_numbers(published: Published, generated: Mapping[str, float]) -> list[Checked]:
    """Compare; a number that the trace lacks fails.

    Parameters
    ----------
    published : Published
    generated : mapping of str to float
        As from `trace_numbers`, or from `event_numbers`.
    """
    size = generated[published.counted] / published.sessions
    lines = [_number(printed, generated.get(printed.key), size) for printed in published.numbers]
    return lines + [_order(order, generated) for order in published.orders]


def _number(printed: Printed, value: float | None, size: float) -> Checked:
    target = printed.value * (size if printed.sized else 1)
    within = printed.within.text + (f" (residual: {printed.limit.text})" if printed.limit else "")
    line = (printed.tier, printed.key, _shown(target))
    if value is None:
        return Checked(*line, "none", "", within, _FAILED, printed.source)
    verdict = _HELD if printed.within.holds(target, value) else _FAILED
    if verdict == _FAILED and printed.limit is not None and printed.limit.holds(target, value):
        verdict = _KNOWN
    return Checked(*line, _shown(value), printed.within.off(target, value), within, verdict, printed.source,
                   printed.why)


def _order(order: Order, generated: Mapping[str, float]) -> Checked:
    names = [key.rsplit(".", 2)[-2] for key in order.keys]
    values = [generated.get(key) for key in order.keys]
    held = all(a is not None and b is not None and a >= b for a, b in pairwise(values))
    return Checked(order.tier, f"order of {', '.join(order.keys[:1])}", " >= ".join(names),
                   " >= ".join("none" if value is None else _shown(value) for value in values), "", "order",
                   _HELD if held else _FAILED, order.source)


def _shown(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 and abs(value) < 1e9 else f"{value:.4g}"


_HEAD = ("tier", "number", "published", "generated", "off", "within", "verdict", "source")


def check_table(lines: Iterable[Checked]) -> str:
    """The check as a Markdown table, columns aligned."""
    rows = [_HEAD, *((str(line.tier), f"`{line.key}`", line.published, line.generated, line.off, line.within,
                      line.verdict, line.source) for line in lines)]
    return aligned(rows)


def small_fleet_note(sessions: int, published: Published) -> str | None:
    """What chance may do to the check of a fleet of few sessions."""
    enough = min(_ENOUGH, published.sessions)
    if sessions >= enough:
        return None
    return (f"{sessions:,} sessions: below {enough:,} chance alone takes some numbers out of their tolerances: "
            "extremes, ceilings, the busiest hour, now and then a quantile.")


def residual_notes(lines: Iterable[Checked]) -> list[str]:
    """Why known residuals are there, one sentence a number that has one."""
    return [f"`{line.key}`: {line.why}" for line in lines if line.verdict == _KNOWN]
