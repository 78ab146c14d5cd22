"""Make the committed sample, `calls.csv.gz`: a synthetic log of an invented agentic fleet.

    python sample_data/make.py           writes the sample
    python sample_data/make.py --check   exits 1 when the committed sample is not what this script makes

The rows must come out the same on every machine. Hence only `random.Random.random`, whose sequence
Python guarantees for a seed, and quantile tables with linear interpolation: plain arithmetic, no
`exp` or `log`, which differ between maths libraries in the last digit. What gzip makes of the rows
may differ between zlib versions, therefore `--check` compares what is inside.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Final

SAMPLE: Final = Path(__file__).parent / "calls.csv.gz"
SEED: Final = 20260302
START: Final = datetime(2026, 3, 3, tzinfo=UTC)
WINDOW_MS: Final = 2 * 86_400_000
SESSIONS, SUBAGENT_CHANCE = 300, 0.008  # a call starts a subagent with this chance

COLUMNS: Final = (
    "session_id", "timestamp", "context_tokens", "cached_tokens", "output_tokens", "model", "turn_id",
    "user_initiated", "region", "deployment", "duration_ms", "parent_session_id", "call_id", "status",
)  # fmt: skip
Row = dict[str, str]
Table = tuple[tuple[float, float], ...]

# Quantile tables: (share of draws at most, value).
DEPTH: Final[Table] = ((0, 1), (0.1, 2), (0.3, 5), (0.5, 10), (0.75, 19), (0.9, 34), (0.97, 62), (1, 110))
INTRA_S: Final[Table] = (
    (0, 0.4), (0.1, 1.8), (0.25, 3.4), (0.5, 7), (0.75, 14), (0.9, 36), (0.97, 110), (0.995, 420), (1, 1400),
)  # fmt: skip
INTER_S: Final[Table] = (
    (0, 4), (0.2, 45), (0.5, 130), (0.7, 480), (0.85, 1700), (0.94, 8400), (1, 40_000),
)  # fmt: skip
FIRST_CONTEXT: Final[Table] = ((0, 2_600), (0.2, 5_800), (0.5, 9_700), (0.8, 17_000), (1, 34_000))
GROWTH: Final[Table] = ((0, 90), (0.3, 900), (0.5, 2_000), (0.9, 6_500), (1, 21_000))
LIMIT: Final[Table] = ((0, 48_000), (0.5, 96_000), (1, 200_000))
OUTPUT: Final[Table] = ((0, 18), (0.3, 180), (0.5, 380), (0.9, 1_900), (1, 7_200))

# Sessions started in each hour, as weights: two office days, and a deadline on the second afternoon.
DAY: Final = (1, 1, 1, 1, 1, 1, 2, 4, 7, 9, 9, 8, 7, 9, 10, 9, 8, 6, 4, 3, 3, 2, 2, 1)
HOURS: Final = (*DAY, *DAY[:13], 12, 54, 12, *DAY[16:])

MODELS: Final = ("deep-research-1", "reasoner-1", "mini-1", "nano-1")
NEXT_MODEL: Final = ((0.90, 0.06, 0.03, 0.01), (0.22, 0.60, 0.16, 0.02), (0.05, 0.75, 0.17, 0.03),
                     (0.10, 0.15, 0.05, 0.70))  # fmt: skip
# Big models and small ones run on separate deployments, whose names are unique within a region only.
FLEET: Final = {
    "north": (("agents-a", "agents-b"), ("light-a",)),
    "west": (("agents-a", "agents-b"), ("light-a",)),
    "asia": (("agents-a",), ("light-a",)),
}
SILENT: Final = ("asia", "light-a")  # this deployment does not report cached tokens
SYSTEM_PROMPT: Final = 2_048
BLOCK: Final = 128  # prefix caches count whole blocks


class Dice:
    """Draws that are the same on every machine."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed).random
        self.used: set[str] = set()

    def chance(self, p: float) -> bool:
        """True with probability p."""
        return self.random() < p

    def pick(self, weights: tuple[float, ...]) -> int:
        """Index drawn by weight."""
        left = self.random() * sum(weights)
        for i, weight in enumerate(weights):
            left -= weight
            if left < 0:
                return i
        return len(weights) - 1

    def draw(self, table: Table) -> float:
        """A value of a quantile table."""
        u = self.random()
        for (p0, v0), (p1, v1) in pairwise(table):
            if u <= p1:
                return v0 + (v1 - v0) * (u - p0) / (p1 - p0)
        return table[-1][1]

    def name(self, prefix: str, digits: int) -> str:
        """An opaque name that was not given before."""
        while True:
            made = f"{prefix}-{int(self.random() * 16**digits):0{digits}x}"
            if made not in self.used:
                self.used.add(made)
                return made


@dataclass
class Session:
    """What one session remembers between its calls."""

    name: str
    parent: str
    home: str
    model: int
    main: float  # context of the main thread
    limit: float  # where the client compacts it
    turn: int = 0
    places: dict[int, tuple[str, str]] = field(default_factory=dict)  # big (0) or small (1) model -> place
    cached: dict[tuple[int, str, str], tuple[int, int]] = field(default_factory=dict)  # -> (tokens, time)


def stamp(t_ms: int) -> str:
    """ISO-8601 in UTC, to the millisecond."""
    return (START + timedelta(milliseconds=t_ms)).strftime("%Y-%m-%dT%H:%M:%S.") + f"{t_ms % 1000:03d}Z"


def place_of(dice: Dice, s: Session) -> tuple[str, str]:
    """Where the call goes: sticky, with rare moves inside the region and rarer ones out of it."""
    size = int(s.model >= 2)
    if size not in s.places or dice.chance(0.012):
        region = s.home if dice.chance(0.6) else tuple(FLEET)[dice.pick((1, 1, 1))]
        names = FLEET[region][size]
        s.places[size] = (region, names[int(dice.random() * len(names))])
    elif dice.chance(0.05):
        region, _ = s.places[size]
        names = FLEET[region][size]
        s.places[size] = (region, names[int(dice.random() * len(names))])
    return s.places[size]


def tokens_of(dice: Dice, s: Session, t_ms: int, place: tuple[str, str]) -> tuple[int, int]:
    """(context, cached) of the next call; caches live per model and deployment and age with idleness."""
    if s.model < 2:
        if s.main > s.limit:  # compaction: a summary replaces the history, nothing but the system prompt fits
            s.main *= 0.12 + 0.24 * dice.random()
            s.cached = {key: (SYSTEM_PROMPT, t) for key, (_, t) in s.cached.items()}
        context = int(s.main)
        s.main += dice.draw(GROWTH)
    else:  # tool calls of the small models see an extract
        part = dice.random()
        context = int(s.main * (0.08 + 0.2 * part) if s.model == 2 else 400 + 2_600 * part)
    known, since = s.cached.get((s.model, *place), (0, 0))
    idle_s = (t_ms - since) / 1000
    keeps = 0.96 if idle_s < 60 else 0.85 if idle_s < 900 else 0.6 if idle_s < 3600 else 0.2
    if not known or not dice.chance(keeps):
        known = SYSTEM_PROMPT if dice.chance(0.55) else 0
    elif s.model >= 2:
        known = int(known * 0.5)
    s.cached[(s.model, *place)] = (context, t_ms)
    return context, min(known, context) // BLOCK * BLOCK


def run_session(dice: Dice, start_ms: int, parent: Session | None, rows: list[tuple[int, Row]]) -> None:
    """Append the calls of one session, and of the subagents it starts, up to the end of the window."""
    depth = max(1, int(dice.draw(DEPTH) * (0.6 if parent else 1)))
    home = parent.home if parent else tuple(FLEET)[dice.pick((5, 3, 2))]
    s = Session(
        dice.name("s", 6), parent.name if parent else "", home, dice.pick((6, 3, 1, 0)),
        dice.draw(FIRST_CONTEXT) * (0.5 if parent else 1), dice.draw(LIMIT),
    )  # fmt: skip
    # A subagent works inside a turn of its parent: it has no user and opens no turn.
    opening = [parent is None and (i == 0 or (i > 1 and dice.chance(0.085))) for i in range(depth)]
    gaps = [max(20, int(1000 * dice.draw(INTER_S if opens else INTRA_S))) for opens in opening]
    t_ms = start_ms
    for index, opens in enumerate(opening):
        s.turn = parent.turn if parent else s.turn + opens
        if index:
            t_ms += gaps[index]
            s.model = dice.pick(NEXT_MODEL[s.model])
        if t_ms >= WINDOW_MS:
            return
        place = place_of(dice, s)
        context, cached = tokens_of(dice, s, t_ms, place)
        failed = dice.chance(0.008)
        output = 0 if failed else int(dice.draw(OUTPUT) * (0.4 if s.model >= 2 else 1))
        cached = 0 if failed else cached
        # 0.1 ms a token to prefill, 9 ms to decode. Most calls end before the next one starts; a few are
        # parallel tool calls, which overlap.
        duration = 120 + (context - cached) // 10 + output * 9
        if index + 1 < depth and not dice.chance(0.06):
            duration = min(duration, gaps[index + 1] * 9 // 10)
        rows.append((t_ms, {
            "session_id": s.name, "timestamp": stamp(t_ms), "context_tokens": str(context),
            "cached_tokens": "" if place == SILENT else str(cached), "output_tokens": str(output),
            "model": MODELS[s.model], "turn_id": f"t{s.turn}", "user_initiated": "true" if opens else "false",
            "region": place[0], "deployment": place[1], "duration_ms": f"{duration}.{t_ms % 10}",
            "parent_session_id": s.parent, "call_id": dice.name("c", 8),
            "status": "error" if failed else "ok",
        }))  # fmt: skip
        if parent is None and dice.chance(SUBAGENT_CHANCE):
            run_session(dice, t_ms + 900, s, rows)


def blemish(dice: Dice, rows: list[Row]) -> list[Row]:
    """What real logs have: repeated records, rows that cannot be used, unknown places, stray calls."""
    out: list[Row] = []
    for i, row in enumerate(rows):
        if i % 211 == 100 and row["status"] == "ok":  # logged while streaming, and again when complete
            out.append(row | {"output_tokens": str(int(row["output_tokens"]) // 5)})
        if dice.chance(0.003):
            row = row | {"region": "", "deployment": ""}
        out.append(row)
        if i % 400 == 7:  # a title for the side bar: no session, no turn
            out.append(row | {
                "session_id": "", "parent_session_id": "", "turn_id": "", "user_initiated": "",
                "model": "nano-1", "context_tokens": str(300 + i % 97), "cached_tokens": "0",
                "output_tokens": "12", "duration_ms": "210.5", "call_id": dice.name("c", 8),
            })  # fmt: skip
    defects: tuple[tuple[str, str], ...] = (
        ("timestamp", "2026-03-03T25:61:00Z"), ("context_tokens", "-1"), ("timestamp", "unknown"),
        ("output_tokens", "-20"), ("context_tokens", ""),
    )  # fmt: skip
    for k, (column, value) in enumerate(defects):
        at = 500 + 900 * k
        out.insert(at, out[at] | {column: value, "call_id": dice.name("c", 8)})
    over = next(r for r in out[2_500:] if r["status"] == "ok" and r["cached_tokens"] not in ("", "0"))
    over["cached_tokens"] = str(int(over["context_tokens"]) // BLOCK * BLOCK + BLOCK)
    return out


def make_rows(seed: int = SEED) -> list[Row]:
    """The sample, in the order of the file."""
    dice = Dice(seed)
    timed: list[tuple[int, Row]] = []
    for _ in range(SESSIONS):
        start_ms = dice.pick(HOURS) * 3_600_000 + int(dice.random() * 3_600_000)
        run_session(dice, start_ms, None, timed)
    timed.sort(key=lambda item: item[0])
    return blemish(dice, [row for _, row in timed])


def encode(rows: list[Row]) -> bytes:
    """Compressed CSV; without a time in the gzip header the same rows give the same bytes."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return gzip.compress(text.getvalue().encode(), compresslevel=9, mtime=0)


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description="make the committed sample")
    parser.add_argument("--check", action="store_true", help="compare with the committed file instead")
    made = encode(make_rows())
    if parser.parse_args().check:
        same = SAMPLE.exists() and gzip.decompress(SAMPLE.read_bytes()) == gzip.decompress(made)
        if not same:
            print(f"{SAMPLE.name} is not what make.py makes", file=sys.stderr)
        return 0 if same else 1
    SAMPLE.write_bytes(made)
    print(f"{SAMPLE.name}: {len(made):,} bytes", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
