"""Numbers and tables about calls and sessions: shape, turns, depth, context, classes, reuse, placement, prefixes."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

from reference import (
    BETA,
    CLASSES,
    MAPPINGS,
    MODELS,
    PPB,
    Call,
    Fleet,
    Numbers,
    Tables,
    cdf_bins,
    mean_ppb,
    quantile,
    share,
)

GIB = 2**30


def shape(fleet: Fleet, numbers: Numbers, tables: Tables) -> None:
    times = [call.t for call in fleet.calls]
    models = {call.row["model"] for call in fleet.calls} - {None}
    numbers |= {
        "trace.calls": len(fleet.calls), "trace.sessions": len(fleet.sessions),
        "trace.sessioned_calls": len(fleet.sessioned), "trace.models": len(models) or None,
        "trace.span_s": Fraction(max(times) - min(times), 10**6),
    }
    for side, edge, beyond in (("left", fleet.start, lambda t, e: t < e), ("right", fleet.end, lambda t, e: t >= e)):
        outside = [] if edge is None else [row for row in fleet.given.usable if beyond(row["t_us"], edge)]
        proven = {row["session_id"] for row in outside} & set(fleet.sessions)
        numbers[f"trace.sessions_cut_{side}"] = len(proven) if outside else len(fleet.sessions)


def turns(fleet: Fleet, numbers: Numbers, tables: Tables) -> None:
    classified = [call for call in fleet.sessioned if call.opens is not None]
    opening = sum(call.opens is True for call in classified)
    numbers |= {
        "turns.per_session": share(opening, len({call.row["session_id"] for call in classified})),
        "turns.calls_per_turn": share(len(classified), opening),
        "turns.internal_share": share(len(classified) - opening, len(classified)),
        "turns.unclassified": len(fleet.sessioned) - len(classified) if classified else None,
    }


def depth(fleet: Fleet, numbers: Numbers, tables: Tables) -> None:
    depths = [len(calls) for calls in fleet.sessions.values()]
    for p in ("50", "90", "99"):
        numbers[f"depth.p{p}"] = quantile(depths, f"0.{p}")
    numbers["depth.max"] = max(depths, default=None)
    numbers["depth.mean"] = share(sum(depths), len(depths))
    if depths:
        tables["depth_ccdf"] = [
            {"calls": edge - 1, "sessions": n, "ccdf": 1 - Fraction(below, len(depths))}
            for edge, n, below in cdf_bins(depths, 90)]


def context(fleet: Fleet, numbers: Numbers, tables: Tables) -> None:
    at = {index: [call.x for call in fleet.sessioned if call.index == index] for index in range(1, 31)}
    medians = {index: quantile(xs, "0.5") for index, xs in at.items() if xs}
    for mark in (1, 11, 30):
        numbers[f"context.index_{mark}_p50"] = medians.get(mark)
    numbers["context.saturation_index"] = next(
        (index for index, median in medians.items() if median >= Fraction(95, 100) * medians[max(medians)]), None)
    if medians:
        tables["context_by_index"] = [
            {"call_index": index, "q1": quantile(at[index], "0.25"), "median": medians[index],
             "q3": quantile(at[index], "0.75"), "sessions": len(at[index])} for index in medians]
    shrunk = [call for call in fleet.sessioned if call.previous is not None and call.x < call.previous.x]
    multi = [name for name, calls in fleet.sessions.items() if len(calls) > 1]
    numbers["context.reduction_session_share"] = share(len({call.row["session_id"] for call in shrunk}), len(multi))
    numbers["context.reduction_remaining_p50"] = share(
        quantile([call.x * PPB // call.previous.x for call in shrunk if call.previous], "0.5"), PPB)


def volume(fleet: Fleet, numbers: Numbers, tables: Tables) -> None:
    reported = [(call.x, call.row["output_tokens"]) for call in fleet.calls if call.row["output_tokens"] is not None]
    x, o = sum(x for x, _ in reported), sum(o for _, o in reported)
    numbers |= {"context.share": share(x, x + o), "context.to_output": share(x, o)}


def class_share(fleet: Fleet, numbers: Numbers, tables: Tables) -> None:
    named = any(call.row["model"] is not None for call in fleet.calls)
    cached = fleet.knows("cached_tokens")
    table: list[dict[str, Any]] = []
    for mapping in MAPPINGS:
        for name in CLASSES:
            def x(calls: list[Call], of: str, mapping: str = mapping) -> int:
                return sum(call.x for call in calls if of in ("all", call.model_class(mapping)))

            def uncached(of: str, mapping: str = mapping) -> int:
                return sum(call.x - call.cached for call in fleet.sessioned
                           if call.cached is not None and of in ("all", call.model_class(mapping)))

            whole = share(x(fleet.calls, name), x(fleet.calls, "all"))
            left = share(uncached(name), uncached("all"))
            numbers[f"class_share.{mapping}.{name}"] = whole if named else None
            numbers[f"class_share.uncached.{mapping}.{name}"] = left if named and cached else None
            table.append({"mapping": mapping, "class": name, "context_tokens": x(fleet.calls, name),
                          "context_share": whole, "uncached_tokens": uncached(name) if cached else None,
                          "uncached_share": left})
    if named:
        tables["class_share"] = table


def class_transition(fleet: Fleet, numbers: Numbers, tables: Tables) -> None:
    known = bool(fleet.sessions) and any(call.row["model"] is not None for call in fleet.calls)
    table: list[dict[str, Any]] = []
    for mapping in MAPPINGS:
        pairs = Counter((call.previous.model_class(mapping), call.model_class(mapping))
                        for call in fleet.sessioned if call.previous is not None)
        pairs = Counter({pair: n for pair, n in pairs.items() if "unknown" not in pair})
        leaving = Counter({a: sum(n for (b, _), n in pairs.items() if a == b) for a in CLASSES[:4]})
        table += [{"mapping": mapping, "from_class": a, "to_class": b, "transitions": pairs[a, b],
                   "probability": share(pairs[a, b], leaving[a])} for a in CLASSES[:4] for b in CLASSES[:4]]
        if mapping == "conservative":
            best = sum(max(pairs[a, b] for b in CLASSES[:4]) for a in CLASSES[:4])
            numbers |= {"class.transitions": sum(pairs.values()) if known else None,
                        "class.next_accuracy": share(best, sum(pairs.values())),
                        "class.spine_self": share(pairs["spine", "spine"], leaving["spine"])}
    if known:
        tables["class_transition"] = table


def reuse(fleet: Fleet, numbers: Numbers, tables: Tables) -> None:
    reported = [(call.cached, call.x) for call in fleet.sessioned if call.cached is not None]
    c, x = sum(c for c, _ in reported), sum(x for _, x in reported)
    ratios = [Fraction(c, x) for c, x in reported if x]
    own = [[(call.cached, call.x) for call in calls if call.cached is not None] for calls in fleet.sessions.values()]
    aggregates = [Fraction(sum(c for c, _ in some), sum(x for _, x in some)) for some in own if sum(x for _, x in some)]
    numbers |= {
        "reuse.aggregate": share(c, x), "reuse.carry_tax": share(x, x - c),
        "reuse.calls_ge_95": share(sum(r >= Fraction(95, 100) for r in ratios), len(ratios)),
        "reuse.calls_lt_20": share(sum(r < Fraction(1, 5) for r in ratios), len(ratios)),
        "reuse.calls_20_80": share(sum(Fraction(1, 5) <= r < Fraction(4, 5) for r in ratios), len(ratios)),
        "reuse.sessions_ge_80": share(sum(r >= Fraction(4, 5) for r in aggregates), len(aggregates)),
        "reuse.sessions_20_80": share(sum(Fraction(1, 5) <= r < Fraction(4, 5) for r in aggregates), len(aggregates)),
    }
    if reported:
        for name, of, some in (("reuse_histogram", "calls", ratios),
                               ("session_reuse_histogram", "sessions", aggregates)):
            places = Counter(min(int(r * 50), 49) for r in some)
            tables[name] = [{"low": Fraction(i, 50), "high": Fraction(i + 1, 50), of: places[i],
                             "share": share(places[i], len(some))} for i in range(50)]


def working_set(fleet: Fleet, numbers: Numbers, tables: Tables) -> None:
    peaks = [fleet.peak(name) for name in fleet.sessions]
    for p in ("50", "90", "99"):
        at = quantile(peaks, f"0.{p}")
        numbers[f"working_set.p{p}_gib"] = None if at is None else Fraction(at * BETA, GIB)
    numbers["working_set.over_80gb_share"] = share(sum(BETA * peak > 80 * 10**9 for peak in peaks), len(peaks))
    if peaks:
        tables["working_set_cdf"] = [
            {"gib": Fraction((edge - 1) * BETA, GIB), "sessions": n, "cdf": Fraction(below, len(peaks))}
            for edge, n, below in cdf_bins(peaks, 90)]


def prefix(fleet: Fleet, numbers: Numbers, tables: Tables) -> None:
    written = [(call.x, call.row["output_tokens"]) for call in fleet.sessioned if call.row["output_tokens"] is not None]
    numbers["prefix.reads_per_write"] = share(sum(x for x, _ in written), sum(o for _, o in written))
    numbers["prefix.reads_per_write_medians"] = share(
        quantile([x for x, _ in written], "0.5"), quantile([o for _, o in written], "0.5"))
    hashed = [call for call in fleet.sessioned if call.row["prefix_keys"] is not None]
    kept = [_appends(call.previous, call) for call in hashed if call.previous in hashed]
    numbers["prefix.append_only_fraction"] = share(sum(kept), len(kept))
    own, anywhere = ({id(call): _shared(call, hashed, same) for call in hashed} for same in (True, False))
    x = sum(call.x for call in hashed)
    numbers["prefix.ideal_reuse"] = share(sum(own.values()), x)
    numbers["prefix.ideal_reuse_global"] = share(sum(anywhere.values()), x)
    numbers["prefix.thrash_tax"] = share(x, x - sum(own.values()))
    taxes = []
    for name in fleet.sessions:
        mine = [call for call in hashed if call.row["session_id"] == name]
        total, new = sum(call.x for call in mine), sum(call.x - own[id(call)] for call in mine)
        taxes += [total * 10**6 // new] if new else []
    numbers["prefix.thrash_tax_p50"] = share(quantile(taxes, "0.5"), 10**6)
    numbers["prefix.thrash_tax_max"] = share(max(taxes, default=None), 10**6)


def _appends(before: Call | None, call: Call) -> bool:
    assert before is not None
    keys = before.row["prefix_keys"]
    full = keys[:before.x // before.row["block_size"]]
    return bool(call.row["prefix_keys"][:len(full)] == full)


def _shared(call: Call, hashed: list[Call], same_session: bool) -> int:
    longest = 0
    for earlier in hashed:
        if (earlier.t, earlier.order) >= (call.t, call.order):
            continue
        if same_session and earlier.row["session_id"] != call.row["session_id"]:
            continue
        blocks = 0
        for ours, theirs in zip(call.row["prefix_keys"], earlier.row["prefix_keys"], strict=False):
            if ours != theirs:
                break
            blocks += 1
        longest = max(longest, blocks)
    return min(longest * call.row["block_size"], call.x)


def excursion(fleet: Fleet, numbers: Numbers, tables: Tables) -> None:
    lengths = ("0", "1", "2", "3+")
    bands = ((10, "below 10 s"), (60, "10 s to 1 min"), (300, "1 to 5 min"), (3600, "5 min to 1 h"))
    seen: list[tuple[int, str, str, int]] = []
    for calls in fleet.sessions.values():
        last: Call | None = None
        for call in calls:
            if call.model_class("conservative") != "spine":
                continue
            if last is not None and call.reuse is not None:
                gap = call.t - last.t
                band = next((name for edge, name in bands if gap < edge * 10**6), "1 h and more")
                seen.append((min(call.index - last.index - 1, 3), band, fleet.move(last, call), call.reuse))
            last = call
    for k, length in enumerate(lengths):
        numbers[f"excursion.reuse_{length.replace('+', 'plus')}"] = mean_ppb([r for n, _, _, r in seen if n == k])
    spine = any(MODELS[row["model"]][0] == "spine" for row in fleet.given.usable)
    if not (fleet.knows("cached_tokens") and spine and any(call.row["model"] is not None for call in fleet.calls)):
        return
    splits = [("all", "all")] + [("gap", name) for _, name in bands] + [("gap", "1 h and more")]
    splits += [("placement", name) for name in ("unknown_model", "model_switch", "same_deployment", "cross_deployment",
                                                "cross_region", "unknown")]
    table = []
    for split, name in splits:
        for k, length in enumerate(lengths):
            rs = [r for n, band, move, r in seen
                  if n == k and name == {"all": "all", "gap": band, "placement": move}[split]]
            if rs:
                table.append({"split": split, "band": name, "excursion": length, "calls": len(rs),
                              "mean_reuse": mean_ppb(rs)})
    tables["excursion_reuse"] = table


def calibration(fleet: Fleet, numbers: Numbers, tables: Tables) -> None:
    kinds = ("first_touch", "unknown_model", "model_return", "same_deployment", "cross_deployment", "cross_region",
             "unknown")
    bands = ((10, "below 10 s"), (60, "10 s to 1 min"), (300, "1 to 5 min"), (3600, "5 min to 1 h"))
    seen: list[tuple[str, str | None, Call, int]] = []
    for calls in fleet.sessions.values():
        for place, call in enumerate(calls):
            if call.reuse is None:
                continue
            move = fleet.move(call.previous, call)
            before = [other for other in calls[:place] if other.row["model"] == call.row["model"]]
            if call.row["model"] is None or move == "unknown_model":
                seen.append(("unknown_model", None, call, 0))
            elif not before:
                seen.append(("first_touch", None, call, 0))
            else:
                gap = call.t - before[-1].t
                band = next((name for edge, name in bands if gap < edge * 10**6), "1 h and more")
                kind = "model_return" if move == "model_switch" else move
                seen.append((kind, band, call, min(call.x, before[-1].x)))
    known = [one for one in seen if one[0] != "unknown_model"]
    predicted = [one for one in known if one[0] != "first_touch"]
    firsts = [one for one in known if one[0] == "first_touch"]

    def hits(some: list[tuple[str, str | None, Call, int]]) -> int:
        return sum(bool(call.cached) for _, _, call, _ in some)

    def lost(some: list[tuple[str, str | None, Call, int]]) -> int:
        return sum(max(0, reusable - (call.cached or 0)) for _, _, call, reusable in some)

    def unexplained(some: list[tuple[str, str | None, Call, int]]) -> int:
        return sum(max(0, (call.cached or 0) - reusable) for _, _, call, reusable in some)

    def cached(some: list[tuple[str, str | None, Call, int]]) -> int:
        return sum(call.cached or 0 for _, _, call, _ in some)

    reusable = sum(tokens for _, _, _, tokens in known)
    told = any(call.row["model"] is not None for call in fleet.calls)
    for key, value in {
        "predicted_share": share(len(predicted), len(known)),
        "hit_where_predicted": share(hits(predicted), len(predicted)),
        "hit_where_not_predicted": share(hits(firsts), len(firsts)),
        "agreement": share(hits(predicted) + len(firsts) - hits(firsts), len(known)),
        "reusable_share": share(reusable, sum(call.x for _, _, call, _ in known)),
        "lost_token_share": share(lost(known), reusable),
        "unexplained_token_share": share(unexplained(known), cached(known)),
    }.items():
        numbers[f"calibration.{key}"] = value
    if not (told and fleet.knows("cached_tokens")):
        return
    tables["calibration"] = []
    for kind in kinds:
        for band in [*(name for _, name in bands), "1 h and more", None]:
            some = [one for one in seen if one[:2] == (kind, band)]
            if some:
                unknown = kind == "unknown_model"
                tables["calibration"].append({
                    "transition": kind, "gap": band, "calls": len(some), "hits": hits(some),
                    "hit_rate": share(hits(some), len(some)),
                    "context_tokens": sum(call.x for _, _, call, _ in some), "cached_tokens": cached(some),
                    "reusable_tokens": None if unknown else sum(tokens for _, _, _, tokens in some),
                    "lost_tokens": None if unknown else lost(some),
                    "unexplained_tokens": None if unknown else unexplained(some)})


PARTS = (shape, turns, depth, context, volume, class_share, class_transition, reuse, working_set, prefix, excursion,
         calibration)
