"""What `kvcensus size` prints: the budget that a target needs, by policy, as a table or as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from figures.units import NOT_KNOWN, format_value
from pipelines.priced import Priced, aligned, budget_name, money
from pipelines.streams import say
from replay.cost.curves import Curve, Measure, Point
from replay.cost.prices import price, rounded
from replay.cost.size import AT_MOST, BETWEEN, BEYOND, NEVER, RULE, Sized, size

__all__ = ["print_size", "size_json"]

_WORDS = {"misses": "of the calls miss", "missed-tokens": "of the context tokens are missed"}
_UNKNOWN = "the stream has no tokens to take a share of"
_NONE = "–"


def print_size(priced: Priced, measure: Measure, target: Fraction) -> None:
    """A table by what one object belongs to, what to know about its curves, and what to replay next."""
    for line in priced.heading():
        say(line)
    say(f"target: at most {format_value(float(target), 'share')} {_WORDS[measure.name]}")
    for title, curves in priced.cells:
        say(f"\nobjects by {title}, K* = {format_value(curves[0].kstar_bytes, 'bytes')}")
        found = [size(curve, measure, target) for curve in curves]
        _print_cell(priced, curves, found)
        for note in _notes(found, measure):
            say(note)
    say(f"\nrule: {RULE}.")


def _print_cell(priced: Priced, curves: Sequence[Curve], found: Sequence[Sized | None]) -> None:
    currency, sure = priced.platform.currency, any(sized and sized.low for sized in found)
    head = ["policy", "budget", "point", "of K*", "GPUs to hold", f"{currency}/h to hold", f"{currency}/h of misses"]
    rows = [head + ["interval"] * sure]
    for curve, sized in zip(curves, found, strict=True):
        rows.append([curve.policy, _answer(sized), *_point(priced, sized)] + [_interval(sized)] * sure)
    for text in aligned(rows, left=(0, 1)):
        say(text)


def _answer(sized: Sized | None) -> str:
    """Between which replayed budgets the answer lies."""
    if sized is None:
        return _UNKNOWN
    if sized.answer.state == BETWEEN:
        return f"between {_name(sized.above)} and {_name(sized.reached)}"
    if sized.answer.state == AT_MOST:
        return f"at most {_name(sized.reached)}, the smallest replayed"
    last = _name(sized.above)
    return f"never: not with {last}, which holds everything" if sized.answer.state == NEVER else \
        f"more than {last}, the largest replayed"


def _name(point: Point | None) -> str:
    return "" if point is None else budget_name(point.budget_share, point.budget_bytes)


def _point(priced: Priced, sized: Sized | None) -> list[str]:
    if sized is None or sized.budget_bytes is None or sized.missed_tokens is None:
        return [_NONE] * 5
    cost = price(priced.platform, sized.missed_tokens, sized.budget_bytes, priced.replay.span_us)
    below = "≤ " * (sized.answer.state == AT_MOST)
    recompute = NOT_KNOWN if cost.recompute_per_hour is None else f"{float(cost.recompute_per_hour):,.2f}"
    return [below + format_value(sized.budget_bytes, "bytes"), below + _of_kstar(sized, sized.budget_bytes),
            f"{below}{cost.memory_gpus:,}", f"{below}{float(cost.memory_per_hour):,.2f}", recompute]


def _of_kstar(sized: Sized, budget: int) -> str:
    kstar = sized.curve.kstar_bytes
    return format_value(budget / kstar if kstar else None, "share")


def _interval(sized: Sized | None) -> str:
    """Both ends of the budget, of which each may lie beyond what was replayed."""
    if sized is None or sized.low is None or sized.high is None:
        return _NONE
    return f"{_end(sized.low)} to {_end(sized.high)}"


def _end(sized: Sized) -> str:
    if sized.answer.state == BETWEEN:
        return format_value(sized.budget_bytes, "bytes")
    if sized.answer.state == AT_MOST and sized.reached is not None:
        return f"at most {format_value(sized.reached.budget_bytes, 'bytes')}"
    last = sized.curve.points[-1].budget_bytes
    return "never" if sized.answer.state == NEVER else f"more than {format_value(last, 'bytes')}"


def _notes(found: Iterable[Sized | None], measure: Measure) -> list[str]:
    notes, runs = [], []
    for sized in found:
        if sized is None:
            continue
        policy, answer = sized.curve.policy, sized.answer
        if answer.earlier:
            met = ", ".join(_name(sized.curve.points[place]) for place in answer.earlier)
            notes.append(f"  {policy} is not monotone: it meets the target with {met} too, but not with "
                         f"{_name(sized.above)}")
        elif not answer.monotone:
            notes.append(f"  {policy} is not monotone: some larger budget misses more than a smaller one")
        if answer.state == NEVER and sized.above is not None:
            share = sized.above.shares[measure.name]
            notes.append(f"  {policy}: with {_name(sized.above)} nothing is evicted for lack of memory, and "
                         f"{format_value(None if share is None else float(share), 'share')} {_WORDS[measure.name]}")
        replayed = {f"{_digits(100 * point.budget_share)}%" for point in sized.curve.points if point.budget_share}
        runs += [run for run in [_run(sized)] if run and run not in runs and run not in replayed]
    if runs:
        notes.append(f"  to know more, run characterize with --budgets {','.join(runs)} and those of this run")
    return notes


def _run(sized: Sized) -> str:
    """The budget to replay next, as `--budgets` takes it; empty where none tells more."""
    kstar, state = sized.curve.kstar_bytes, sized.answer.state
    if state == BEYOND:
        return "100%"
    if state == NEVER or not kstar or not sized.budget_bytes or sized.answer.part == 1:
        return ""
    share = Fraction(sized.budget_bytes, kstar) / (2 if state == AT_MOST else 1)
    return f"{_digits(float(100 * share))}%"


def _digits(percent: float) -> str:
    """Three of them, as `--budgets` takes a share."""
    return f"{Decimal(f'{percent:.3g}'):f}"


def size_json(priced: Priced, measure: Measure, target: Fraction) -> dict[str, Any]:
    """The same for machines."""
    objects = [{"object_key": curves[0].object_key, "release": curves[0].release,
                "kstar_bytes": curves[0].kstar_bytes,
                "policies": [_entry(priced, curve, size(curve, measure, target)) for curve in curves]}
               for _, curves in priced.cells]
    return {**priced.as_json(), "target": {"measure": measure.name, "share": rounded(target, 12)}, "rule": RULE,
            "objects": objects}


def _entry(priced: Priced, curve: Curve, sized: Sized | None) -> dict[str, Any]:
    if sized is None:
        return {"policy": curve.policy, "state": None, "why": _UNKNOWN}
    interval = None if sized.low is None or sized.high is None else {
        name: {"state": end.answer.state, "budget_bytes": end.budget_bytes if end.answer.state == BETWEEN else None}
        for name, end in (("low", sized.low), ("high", sized.high))}
    return {
        "policy": curve.policy, "state": sized.answer.state,
        "above": _replayed(priced, curve, sized.above), "reached": _replayed(priced, curve, sized.reached),
        "point": _budget(priced, curve, sized.budget_bytes, sized.missed_tokens), "interval": interval,
        "monotone": sized.answer.monotone,
        "also_met_bytes": [curve.points[place].budget_bytes for place in sized.answer.earlier],
        "run_budgets": _run(sized) or None,
    }


def _replayed(priced: Priced, curve: Curve, point: Point | None) -> dict[str, Any] | None:
    if point is None:
        return None
    return {"budget_share": point.budget_share,
            **(_budget(priced, curve, point.budget_bytes, Fraction(point.missed_tokens)) or {})}


def _budget(priced: Priced, curve: Curve, budget: int | None, tokens: Fraction | None) -> dict[str, Any] | None:
    """Bytes, GPUs and money."""
    if budget is None or tokens is None:
        return None
    cost = price(priced.platform, tokens, budget, priced.replay.span_us)
    of_kstar = Fraction(budget, curve.kstar_bytes) if curve.kstar_bytes else None
    whole = tokens.denominator == 1
    return {"budget_bytes": budget, "of_kstar": rounded(of_kstar, 9), "memory_gpus": cost.memory_gpus,
            "memory_per_hour": money(cost.memory_per_hour),
            "missed_tokens": int(tokens) if whole else rounded(tokens, 3),
            "recompute_per_hour": money(cost.recompute_per_hour), "total_per_hour": money(cost.total_per_hour)}
