"""All contrasts of a comparison for a machine."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence

from figures.compared.spec import Compared
from metrics.core.contrast import Contrast, Contrasts

__all__ = ["as_json"]


def as_json(windows: Sequence[Compared], found: Contrasts) -> str:
    """`results` are the labels; `contrasts` come ranked, shares first; `spread` is null where it is infinite."""
    return json.dumps({"results": [window.label for window in windows], "contrasts": list(_lines(windows, found)),
                       "left_out": dict(found.left_out)}, indent=1, ensure_ascii=False, allow_nan=False)


def _lines(windows: Sequence[Compared], found: Contrasts) -> Iterator[dict[str, object]]:
    for contrast in (*found.shares, *found.ratios):
        yield {"key": contrast.key, "unit": contrast.unit, "method": contrast.method,
               "spread": None if math.isinf(contrast.spread) else contrast.spread, "apart": contrast.apart,
               "values": {w.label: _value(contrast, place) for place, w in enumerate(windows)}}


def _value(contrast: Contrast, place: int) -> dict[str, object] | None:
    number = contrast.values[place]
    return None if number is None else {"value": number.value, "lo": number.lo, "hi": number.hi, "n": number.n}
