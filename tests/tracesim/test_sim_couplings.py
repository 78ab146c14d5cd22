"""Each coupling matters: without it, a published number leaves its tolerance."""

from __future__ import annotations

from pathlib import Path

import pytest

from metrics import class_share, class_transition, context, excursion, gap, placement, transition_reuse
from metrics.core.classes import ClassRule
from pipelines.published import load_published
from pipelines.trace_numbers import trace_numbers
from tracesim.couplings import COUPLINGS
from tracesim.profile import Profile
from tracesim.profile_file import load_profile
from tracesim.timeline import Timeline
from tracesim.writer import TraceWriter

SESSIONS = 2_500
METRICS = tuple(module.METRIC for module in (class_share, class_transition, context, excursion, gap, placement,
                                             transition_reuse))
PRINTED = {printed.key: printed for printed in load_published("research").numbers}


def measured(profile: Profile, work: Path) -> dict[str, float]:
    path = work / "calls.parquet"
    with TraceWriter(path, profile, {}) as writer:
        for _, calls in Timeline(profile, 11).pieces():
            writer.add(calls)
    rules = [ClassRule(model.name, model.conservative, model.broad) for model in profile.classes.models]
    return trace_numbers([path], rules, None, work, metrics=METRICS)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    return measured(load_profile("research").with_window(SESSIONS, None, None), tmp_path_factory.mktemp("whole"))


@pytest.mark.parametrize("name", COUPLINGS)
def test_a_cut_coupling_shows(name: str, whole: dict[str, float], tmp_path: Path) -> None:
    coupling = COUPLINGS[name]
    printed = PRINTED[coupling.shows]
    without = measured(coupling.cut(load_profile("research").with_window(SESSIONS, None, None)), tmp_path)
    assert not printed.within.holds(printed.value, without[coupling.shows])
    # So few sessions scatter; what is cut must be worse than that by far.
    off = [abs(numbers[coupling.shows] - printed.value) for numbers in (whole, without)]
    assert off[1] > 2 * off[0]
