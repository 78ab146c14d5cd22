"""What `kvcensus cost` and `kvcensus size` share: a results store beside a platform, and how both are told."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from figures.units import clean, format_value
from metrics.core.store import Results
from pipelines.arguments import Parser
from pipelines.streams import say
from replay.cost.curves import Curve, Replay, read_replay
from replay.cost.platform import DEFAULT_PLATFORM, Fact, Platform, load_platform, platforms
from replay.cost.prices import host_words, rounded
from telemetry.errors import UsageError, quoted

__all__ = ["Priced", "add_priced", "aligned", "budget_name", "money", "open_priced", "print_json", "tell_priced"]

STREAMS = {"busiest-hour": "the busiest hour", "window": "the whole window"}
_ALL = "all"
_MONEY_PLACES = 4


@dataclass(frozen=True)
class Priced:
    """A store beside a platform; `cells` are the curves that were asked for, by what one object belongs to."""

    results: Results
    platform: Platform
    replay: Replay
    cells: tuple[tuple[str, list[Curve]], ...]

    @property
    def notes(self) -> list[str]:
        """What a reader must know besides."""
        found = []
        own = self.results.manifest["configuration"]["geometry"]
        if own["bytes_per_token"] != self.replay.beta:
            found.append(f"bytes are those of {self.platform.geometry.name}, {self.replay.beta:,} KV bytes a token; "
                         f"the store has them for {clean(own['name'])}, {own['bytes_per_token']:,}. The same tokens "
                         "are held.")
        if self.replay.sampled:
            found.append("a sample of the sessions was replayed: misses, tokens, bytes, GPUs and money are the "
                         "sample's, not the fleet's.")
        policies = dict.fromkeys(curve.policy for _, curves in self.cells for curve in curves)
        return found + [words for words in map(host_words, policies) if words]

    def heading(self) -> list[str]:
        """What was replayed, and what it is priced with."""
        replay, platform = self.replay, self.platform
        calls = self.cells[0][1][0].calls
        span = format_value(replay.span_us / 1e6, "s")
        return [
            f"{clean(self.results.manifest.get('name') or 'unnamed trace')}, {STREAMS.get(replay.stream, 'stream')}: "
            f"{calls:,} calls, {replay.tokens:,} context tokens in {span}",
            f"{platform.name}: {platform.gpu}, serving {platform.model}, {platform.geometry.bytes_per_token:,} KV "
            "bytes a token",
        ]

    def as_json(self) -> dict[str, Any]:
        """The same for machines."""
        platform, replay = self.platform, self.replay
        return {
            "stream": {"name": replay.stream, "calls": self.cells[0][1][0].calls, "tokens": replay.tokens,
                       "seconds": rounded(Fraction(replay.span_us, 10**6), 6), "sampled": replay.sampled},
            "platform": {"name": platform.name, "gpu": platform.gpu, "model": platform.model,
                         "currency": platform.currency, "geometry": platform.geometry.name,
                         "bytes_per_token": platform.geometry.bytes_per_token,
                         "values": {name: {"value": _plain(fact), "kind": fact.kind, "source": fact.source}
                                    for name, fact in platform.facts.items()}},
            "notes": self.notes,
        }


def add_priced(parser: Parser) -> None:
    """The options of both commands."""
    parser.add_argument("results", type=Path, metavar="RESULTS",
                        help="the folder of a window that characterize wrote, such as report/all")
    parser.add_argument("--platform", default=DEFAULT_PLATFORM, metavar="P",
                        help=f"what GPUs prefill, hold and cost: {', '.join(platforms())}, or a path to a .toml file "
                        f"(default: {DEFAULT_PLATFORM})")
    parser.add_argument("--key", metavar="K,...", help="what a KV object belongs to, as replayed, or all (default: the "
                        "first that was replayed)")
    parser.add_argument("--json", action="store_true", help="print JSON in place of tables")
    parser.add_argument("--verbose", action="store_true", help="show the whole trace of an error")


def open_priced(given: argparse.Namespace) -> Priced:
    """What was asked for.

    Raises
    ------
    UsageError, InputError
        An unknown platform or key; a folder without a replay.
    """
    platform = load_platform(given.platform)
    results = Results.open(given.results)
    replay = read_replay(results, platform.geometry.bytes_per_token)
    return Priced(results, platform, replay, _chosen(replay, given.key))


def _chosen(replay: Replay, asked: str | None) -> tuple[tuple[str, list[Curve]], ...]:
    cells = {(key if release == "last" else f"{key}, release={release}"): (key, curves)
             for (_, key, release), curves in replay.cells().items()}
    known = tuple(dict.fromkeys(key for key, _ in cells.values()))
    names = known[:1] if asked is None else known if asked == _ALL else tuple(asked.split(","))
    for name in names:
        if name not in known:
            raise UsageError(f"--key {quoted(name)} was not replayed. Replayed: {', '.join(known)}; or {_ALL}.")
    return tuple((title, curves) for title, (key, curves) in cells.items() if key in names)


def tell_priced(priced: Priced) -> None:
    """Print the values of the platform with their sources, and the notes."""
    rows = [[name, f"{_plain(fact):,}", fact.kind, fact.source] for name, fact in priced.platform.facts.items()]
    say("\nplatform values")
    for line in aligned(rows, left=(0, 2, 3)):
        say(line)
    for note in priced.notes:
        say(f"\nnote: {note}")


def print_json(content: dict[str, Any]) -> None:
    """One JSON document, the same bytes for the same input."""
    say(json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False))


def money(value: Fraction | None) -> float | None:
    """An amount to four decimals."""
    return rounded(value, _MONEY_PLACES)


def budget_name(share: float | None, size: int) -> str:
    """A replayed budget for a reader: `10% of K*, 4.70 TB`."""
    amount = format_value(size, "bytes")
    return amount if share is None else f"{share * 100:g}% of K*, {amount}"


def aligned(rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> list[str]:
    """Rows as lines, columns flush: those in `left` to the left, others to the right."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return ["  " + "  ".join(cell.ljust(width) if place in left else cell.rjust(width)
                             for place, (cell, width) in enumerate(zip(row, widths, strict=True))).rstrip()
            for row in rows]


def _plain(fact: Fact) -> int | float:
    return int(fact.value) if fact.value.denominator == 1 else float(fact.value)
