"""What `kvcensus cost` prints: tables for a reader, or one JSON document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from figures.units import NOT_KNOWN, format_value
from pipelines.priced import Priced, aligned, budget_name, money
from pipelines.streams import say
from replay.cost.break_even import break_even
from replay.cost.curves import Curve, Point
from replay.cost.order import swaps
from replay.cost.prices import Price, price, rounded

__all__ = ["cost_json", "print_cost"]

_HEAD = ("policy", "misses", "of calls", "missed tokens", "of tokens", "GPU-s", "GPUs for it", "{}/h for it",
         "GPUs to hold", "{}/h to hold", "{}/h both")

Line = tuple[Curve, Point, Price]

def _lines(priced: Priced, curves: Sequence[Curve]) -> Iterator[tuple[tuple[float | None, int], list[Line]]]:
    """Priced replays by budget: its share of K* and its bytes."""
    found: dict[int, list[Line]] = {}
    for curve in curves:
        for point in curve.points:
            cost = price(priced.platform, point.missed_tokens, point.budget_bytes, priced.replay.span_us)
            found.setdefault(point.budget_bytes, []).append((curve, point, cost))
    for size in sorted(found):
        yield (found[size][0][1].budget_share, size), found[size]


def _swaps(lines: Sequence[Line]) -> list[tuple[str, str]]:
    return swaps([{"policy": curve.policy, "misses": point.misses, "missed_tokens": point.missed_tokens}
                  for curve, point, _ in lines])


def _cheapest(priced: Priced, curves: Sequence[Curve]) -> list[Line]:
    """Each policy at the replayed budget at which prefill and memory cost least together, cheapest policy first."""
    best: dict[str, Line] = {}
    for _, lines in _lines(priced, curves):
        for line in lines:
            known = best.get(line[0].policy)
            if line[2].total_per_hour is not None and (known is None or _total(line) < _total(known)):
                best[line[0].policy] = line
    return sorted(best.values(), key=_total)


def _total(line: Line) -> Any:
    return line[2].total_per_hour


def print_cost(priced: Priced) -> None:
    """Tables by what one object belongs to and by budget; where the order differs; the cheapest; the break-even."""
    for line in priced.heading():
        say(line)
    for title, curves in priced.cells:
        say(f"\nobjects by {title}")
        _print_cell(priced, curves)
        _print_cheapest(priced, curves)
    _print_break_even(priced)
    say("\nGPUs that hold KV also prefill: what a fleet costs lies between the larger of the two amounts and both.")


def _print_cell(priced: Priced, curves: Sequence[Curve]) -> None:
    head = [title.format(priced.platform.currency) for title in _HEAD]
    notes = []
    for (share, size), lines in _lines(priced, curves):
        say(f"\n{budget_name(share, size)}")
        for text in aligned([head, *([curve.policy, *_cells(point, cost)] for curve, point, cost in lines)]):
            say(text)
        notes += [f"  {budget_name(share, size)}: {fewer} misses fewer calls than {more}, and more tokens"
                  for fewer, more in _swaps(lines)]
    say("\norder of policies: " + (
        "by missed tokens, GPU-seconds and money it is another than by misses" if notes else
        "the same by misses, missed tokens, GPU-seconds and money at every budget"))
    for note in notes:
        say(note)


def _cells(point: Point, cost: Price) -> list[str]:
    return [f"{point.misses:,}", _share(point.shares["misses"]), f"{point.missed_tokens:,}",
            _share(point.shares["missed-tokens"]), _amount(cost.gpu_seconds), _amount(cost.busy_gpus),
            _amount(cost.recompute_per_hour), f"{cost.memory_gpus:,}", _amount(cost.memory_per_hour),
            _amount(cost.total_per_hour)]


def _share(value: Fraction | None) -> str:
    return format_value(None if value is None else float(value), "share")


def _amount(value: Fraction | None) -> str:
    return NOT_KNOWN if value is None else f"{float(value):,.2f}"


def _print_cheapest(priced: Priced, curves: Sequence[Curve]) -> None:
    cheapest = _cheapest(priced, curves)
    if not cheapest:
        say("\nmoney an hour is not known: all calls of the stream start at one moment")
        return
    say("\ncheapest of the replayed budgets, prefill and memory together")
    for text in aligned([[curve.policy, budget_name(point.budget_share, point.budget_bytes),
                          f"{_amount(cost.total_per_hour)} {priced.platform.currency}/h"]
                         for curve, point, cost in cheapest]):
        say(text)


def _print_break_even(priced: Priced) -> None:
    say("\nbreak-even of offload, a GPU")
    for each in break_even(priced.platform):
        verdict = "a fetch is quicker than prefill" if each.times > 1 else "prefill is no slower than a fetch"
        needed, link = (format_value(float(value), "bytes/s") for value in (each.bytes_per_s, each.link_bytes_per_s))
        say(f"  {each.form} KV: above {needed}; the link has {link}, {float(each.times):.3g} times that: {verdict}")


def cost_json(priced: Priced) -> dict[str, Any]:
    """The same for machines."""
    objects = []
    for _, curves in priced.cells:
        budgets = [{"budget_share": share, "budget_bytes": size, "policies": [_entry(line) for line in lines],
                    "fewer_misses_more_tokens": [list(pair) for pair in _swaps(lines)]}
                   for (share, size), lines in _lines(priced, curves)]
        cheapest = [{"policy": curve.policy, "budget_share": point.budget_share, "budget_bytes": point.budget_bytes,
                     "total_per_hour": money(cost.total_per_hour)} for curve, point, cost in _cheapest(priced, curves)]
        objects.append({"object_key": curves[0].object_key, "release": curves[0].release,
                        "kstar_bytes": curves[0].kstar_bytes, "budgets": budgets, "cheapest": cheapest})
    return {**priced.as_json(), "objects": objects, "break_even": [
        {"form": each.form, "bytes_per_s": rounded(each.bytes_per_s, 6),
         "link_bytes_per_s": rounded(each.link_bytes_per_s, 6), "link_over_break_even": rounded(each.times, 6)}
        for each in break_even(priced.platform)]}


def _entry(line: Line) -> dict[str, Any]:
    curve, point, cost = line
    return {
        "policy": curve.policy, "misses": point.misses, "miss_share": rounded(point.shares["misses"], 9),
        "missed_tokens": point.missed_tokens, "missed_token_share": rounded(point.shares["missed-tokens"], 9),
        "gpu_seconds": rounded(cost.gpu_seconds, 6), "recompute": money(cost.recompute),
        "busy_gpus": rounded(cost.busy_gpus, 6), "recompute_per_hour": money(cost.recompute_per_hour),
        "memory_gpus": cost.memory_gpus, "memory_per_hour": money(cost.memory_per_hour),
        "total_per_hour": money(cost.total_per_hour),
    }
