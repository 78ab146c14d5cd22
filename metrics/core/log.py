"""What every metric is given, whatever the rows of the log are: one window, its engine, and what the log knows.

A log that lacks something (cached tokens, turns, tools) is asked with `lacks`, which answers with the reason that is
published in place of the numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pyarrow as pa

from metrics.core.classes import DEFAULT_RULES, ClassRule
from metrics.core.clock import Clock, Window, find_zone
from metrics.core.engine import Engine
from metrics.core.geometry import GEOMETRIES, Geometry
from metrics.core.quantile import Quantiles, quantiles

__all__ = ["Log", "Settings"]


@dataclass(frozen=True)
class Settings:
    """What a user chose about the metrics.

    Attributes
    ----------
    geometry : Geometry
        KV bytes a token.
    clock : Clock
        Hours and days.
    rules : tuple of ClassRule
    context_indexes : int
        How many call indexes `context_by_index` covers.
    whole_sessions : bool
        No session has calls beyond the input.
    names : bool
        Publish model and deployment names instead of labels.
    """

    geometry: Geometry = GEOMETRIES["llama-2-70b"]
    clock: Clock = field(default_factory=lambda: Clock(find_zone("UTC")))
    rules: tuple[ClassRule, ...] = DEFAULT_RULES
    context_indexes: int = 30
    whole_sessions: bool = False
    names: bool = False

    @property
    def beta(self) -> int:
        """KV bytes a token."""
        return self.geometry.bytes_per_token


class Log:
    """One window of a log.

    Attributes
    ----------
    relation : str
        The view of its used rows.
    reasons : mapping of str to str
        What it may lack, a field of `profile` -> the words for that.
    profile : object
        Counts over the used rows: how many there are, how many know what.
    """

    relation: ClassVar[str]
    reasons: ClassVar[Mapping[str, str]]

    def __init__(self, engine: Engine, window: Window, settings: Settings) -> None:
        self.engine = engine
        self.window = window
        self.settings = settings

    def lacks(self, *needs: str) -> str | None:
        """Why a metric with these needs cannot be computed; None when it can."""
        profile: Any = vars(self)["profile"]
        return next((self.reasons[need] for need in needs if not getattr(profile, need)), None)

    def row(self, query: str) -> dict[str, Any]:
        return self.engine.row(query)

    def rows(self, query: str) -> list[dict[str, Any]]:
        return self.engine.rows(query)

    def fetch(self, query: str) -> pa.Table:
        return self.engine.fetch(query)

    def quantiles(self, relation: str, value: str, *probabilities: str) -> Quantiles | None:
        """Quantiles of one group; None when no row has a value."""
        return quantiles(self.engine, relation, value, probabilities).get(0)
