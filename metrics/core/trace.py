"""What a metric is given: one window of one trace, its engine, and what the trace knows.

A trace that lacks something (cached tokens, turns, deployments, durations) is asked with `lacks`,
which answers with the reason that is published in place of the numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from metrics.core.classes import DEFAULT_RULES, ClassRule
from metrics.core.clock import Clock, Window, find_zone
from metrics.core.engine import Engine
from metrics.core.geometry import GEOMETRIES, Geometry
from metrics.core.quantile import Quantiles, quantiles
from metrics.core.steps import derive_calls, derive_steps

__all__ = ["Profile", "Settings", "Trace"]

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


@dataclass(frozen=True)
class Profile:
    """Counts over the used calls of the window: how many there are, how many know what."""

    calls: int
    sessioned: int
    cached: int
    output: int
    model: int
    region: int
    deployment: int
    duration: int
    prefix: int
    turn: int
    turn_ids_decide: int
    clipped: int
    failed: int
    zero_context: int
    first_us: int
    last_us: int


_PROFILE = """
    select count(*) as calls, count(session_id) as sessioned,
           count(case when session_id is not null then c end) as cached,
           count(o) as output,
           count(case when model_no > 0 then 1 end) as model,
           count(case when session_id is not null then region_no end) as region,
           count(case when session_id is not null then place_no end) as deployment,
           count(case when session_id is not null then duration_us end) as duration,
           count(case when session_id is not null then block_size end) as prefix,
           count(case when session_id is not null and (user_initiated is not null or turn_id is not null)
                 then 1 end) as turn,
           count(case when session_id is not null and user_initiated is null and turn_id is not null
                 then 1 end) as turn_ids_decide,
           count(case when clipped then 1 end) as clipped,
           count(case when failed then 1 end) as failed,
           count(case when x = 0 then 1 end) as zero_context,
           min(t_us) as first_us, max(t_us) as last_us
    from calls"""

_REASONS = {
    "sessioned": "no call of the trace has a session id",
    "cached": "the trace reports no cached tokens",
    "output": "the trace reports no output tokens",
    "model": "the trace names no models",
    "region": "the trace names no regions",
    "deployment": "the trace names no deployments",
    "duration": "the trace reports no durations",
    "prefix": "the trace carries no block hashes",
    "turn": "the trace marks no user turns",
}


class Trace:
    """One window of a trace, ready for metrics: `calls`, `steps` and `sessions` exist in `engine`."""

    def __init__(self, engine: Engine, window: Window, settings: Settings) -> None:
        self.engine = engine
        self.window = window
        self.settings = settings
        derive_calls(engine, window)
        self.profile = Profile(**engine.row(_PROFILE))

    @property
    def empty(self) -> bool:
        """No call lies in the window."""
        return self.profile.calls == 0

    def derive(self) -> None:
        """Make `steps` and `sessions`; before that only `calls` can be read."""
        derive_steps(self.engine, turn_ids_decide=self.profile.turn_ids_decide > 0,
                     durations=self.profile.duration > 0)

    def lacks(self, *needs: str) -> str | None:
        """Why a metric with these needs cannot be computed; None when it can."""
        for need in needs:
            if not getattr(self.profile, need):
                return _REASONS[need]
        return None

    def row(self, query: str) -> dict[str, Any]:
        return self.engine.row(query)

    def rows(self, query: str) -> list[dict[str, Any]]:
        return self.engine.rows(query)

    def fetch(self, query: str) -> pa.Table:
        return self.engine.fetch(query)

    def quantiles(self, relation: str, value: str, *probabilities: str) -> Quantiles | None:
        """Quantiles of one group; None when no row has a value."""
        return quantiles(self.engine, relation, value, probabilities).get(0)
