"""What the source of a workload prints, for the same platform, budget, row and metric: `published/WORKLOAD.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Printed", "printed"]

_ANY = "any"
_FOLDER = Path(__file__).parent / "published"


@dataclass(frozen=True)
class Printed:
    """A printed value, or a range of them; `kind` is published or derived."""

    low: float
    high: float
    kind: str
    source: str


def printed(workload: str, platform: str, tier_bytes: int, rate: float) -> dict[tuple[str, str], Printed]:
    """(row, metric) -> what is printed, for one cell; empty where none has such a cell."""
    path = _FOLDER / f"{workload}.toml"
    if not path.is_file():
        return {}
    found: dict[tuple[str, str], Printed] = {}
    dram = f"{tier_bytes / 10**9:g}GB"
    for entry in tomllib.loads(path.read_text(encoding="utf-8"))["values"]:
        here = entry["platform"] in (platform, _ANY) and entry["dram"] in (_ANY, dram)
        if here and entry["rate"] == rate:
            low, high = (entry.get(name, entry.get("value")) for name in ("low", "high"))
            found[entry["row"], entry["metric"]] = Printed(low, high, entry["kind"], entry["source"])
    return found
