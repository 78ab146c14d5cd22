"""What a metric over model calls is given: one window of one trace, and what the trace knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from metrics.core.clock import Window
from metrics.core.engine import Engine
from metrics.core.ingest import Ingested
from metrics.core.log import Log, Settings
from metrics.core.steps import derive_calls, derive_steps

__all__ = ["Profile", "Settings", "Trace"]


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
    deployment_named: int
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
    select {calls} as calls, {sessioned_calls} as sessioned, {cached} as cached,
           cast(coalesce(sum(output), 0) as bigint) as output,
           cast(coalesce(sum(case when model_no > 0 then calls end), 0) as bigint) as model,
           cast(coalesce(sum(case when sessioned and region_no is not null then calls end), 0) as bigint) as region,
           cast(coalesce(sum(case when sessioned and place_no is not null then calls end), 0) as bigint) as deployment,
           cast(coalesce(sum(case when sessioned and deployment_no is not null then calls end), 0) as bigint)
               as deployment_named,
           {durations} as duration, {prefixes} as prefix, {turns} as turn, {turn_ids_decide} as turn_ids_decide,
           cast(coalesce(sum(clipped), 0) as bigint) as clipped, cast(coalesce(sum(failed), 0) as bigint) as failed,
           cast(coalesce(sum(zero_context), 0) as bigint) as zero_context,
           min(first_us) as first_us, max(last_us) as last_us
    from loads"""


def _profile(engine: Engine) -> Profile:
    sessioned = {name: f"cast(coalesce(sum(case when sessioned then {name} end), 0) as bigint)"
                 for name in ("cached", "durations", "prefixes", "turns", "turn_ids_decide")}
    calls = {"calls": "cast(coalesce(sum(calls), 0) as bigint)",
             "sessioned_calls": "cast(coalesce(sum(case when sessioned then calls end), 0) as bigint)"}
    return Profile(**engine.row(_PROFILE.format(**sessioned, **calls)))


_REASONS = {
    "sessioned": "no call of the trace has a session id",
    "cached": "the trace reports no cached tokens",
    "output": "the trace reports no output tokens",
    "model": "the trace names no models",
    "region": "the trace names no regions",
    "deployment": "the trace names no deployments",
    "duration": "the trace reports no durations",
    "prefix": "the trace carries no block hashes with a block size",
    "turn": "the trace marks no user turns",
}


class Trace(Log):
    """One window of a trace; `calls` and `loads` exist in `engine`, `steps` and `sessions` after `derive`."""

    relation: ClassVar[str] = "calls"
    reasons: ClassVar[dict[str, str]] = _REASONS

    def __init__(self, engine: Engine, ingested: Ingested, window: Window, settings: Settings) -> None:
        super().__init__(engine, window, settings)
        self._ingested = ingested
        derive_calls(engine, window)
        self.profile = _profile(engine)

    @property
    def empty(self) -> bool:
        """No call lies in the window."""
        return self.profile.calls == 0

    @property
    def session_ids(self) -> str:
        """A relation of sessions: `session_id`, and its integer `session` as in `steps`."""
        return self._ingested.identity.ids

    def derive(self) -> None:
        """Make `steps` and `sessions`; before that only `calls` can be read."""
        profile = self.profile
        durations = {0: "none", profile.sessioned: "all"}.get(profile.duration, "some")
        derive_steps(self.engine, self._ingested.identity, turn_ids_decide=profile.turn_ids_decide > 0,
                     durations=durations, in_order=self._ingested.in_order)

    def lacks(self, *needs: str) -> str | None:
        if "deployment" in needs and self.profile.deployment_named and not self.profile.deployment:
            before = needs[:needs.index("deployment")]
            return super().lacks(*before) or "no deployment is named together with its region"
        return super().lacks(*needs)
