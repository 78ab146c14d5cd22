"""Profile files: what is wrong with one is said with its line; those that ship say where each value comes from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sim_profiles import START_US

from telemetry.errors import UsageError
from tracesim.profile_file import load_profile, profiles

SMALL = """\
[window]
start = 2026-06-15T02:00:00+02:00
days = 2
sessions = 400

[arrivals]
hours = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
days = [1, 1, 1, 1, 1, 0, 0]

[depth]
most = 1000
[[depth.parts]]
weight = 0.25
median = 10
sigma = 0.8
[[depth.parts]]
weight = 0.75
median = 20
sigma = 0

[gaps]
inter = [[0, 30], [0.5, 120], [1, 7200]]
[[gaps.intra]]
weight = 1
median = 8
sigma = 1

[classes]
first = [0.5, 0.5]
[classes.next]
spine = [0.9, 0.1]
mid = [0.3, 0.7]

[[models]]
name = "wise-1"
class = "mid"
broad = "spine"
share = 3
[[models]]
name = "big-1"
class = "spine"
share = 1

[placement]
regions = ["north", "south"]
shares = [0.5, 0.5]
deployments = 4
home = 0.8
move_deployment = 0.02
move_region = 0.01
return_deployment = 0.2
return_region = 0.1
spread = 0

[context]
first = 10000
spread = 0.5
growth = 5
calls = 10
noise = 0
deeper = 0
limit = 100000
limit_spread = 0.1
compacts = 0.01
compacted = [0.2, 0.3]
side = [0, 0.2]
extract = 0.2
extract_spread = 0.3
bursts = [0, 0.1]
burst = 2
burst_spread = 0.1
scale = [1, 1.5]
least = 100
window = 200000

[reuse]
first = [1, 0, 0, 0]
cross_deployment = [1, 0, 0, 0]
cross_region = [1, 0, 0, 0]
lost = [1, 0, 0, 0]
idle = [[60, 0.9], [3600, 0.5]]
block = 128
[reuse.same]
spine = [0, 0, 0, 1]
mid = [0, 0, 0, 1]
[reuse.switch]
spine = [0, 1, 0, 0]
mid = [0, 1, 0, 0]
[reuse.extract]
spine = [0, 1, 0, 0]
mid = [0, 1, 0, 0]
[reuse.excursion]
"1" = [0, 1, 0, 0]
"2" = [0, 1, 0, 0]
"3+" = [0, 1, 0, 0]

[durations]
busy = [0.5, 0.9]
most_s = 100
tokens_per_s = 80
speed_spread = 0.3
"""


def saved(folder: Path, text: str, name: str = "fleet.toml") -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


def test_a_whole_profile(tmp_path: Path) -> None:
    profile = load_profile(saved(tmp_path, SMALL))
    assert profile.name == "fleet"
    assert (profile.window.start_us, profile.window.days, profile.window.sessions) == (START_US, 2, 400)
    assert [part.weight for part in profile.depth.parts] == [0.25, 0.75]
    assert profile.turns is None
    assert profile.gaps.inter == ((0, 30), (0.5, 120), (1, 7200))
    assert [(model.name, model.conservative, model.broad) for model in profile.classes.models] == [
        ("big-1", "spine", "spine"), ("wise-1", "mid", "spine")]  # by class
    assert profile.reuse.idle == ((60, 0.9), (3600, 0.5))
    assert profile.reuse.effectiveness == 1
    assert profile.unsessioned_per_session == 0


WRONG = {
    "unknown key": ("sessions = 400", "sesions = 400", "line 4: unknown key window.sesions. Did you mean sessions?"),
    "unknown table": ("[durations]", "[duration]", "line 97: unknown key duration. Did you mean durations?"),
    "missing key": ("days = 2\n", "", "line 1: window.days is missing; expected a number above 0"),
    "missing table": ("[depth]\nmost = 1000\n", "", "depth.most is missing"),
    "negative rate": ("days = 2", "days = -2", "line 3: window.days = '-2'; expected a number above 0"),
    "not a number": ("days = 2", 'days = "two"', "line 3: window.days = 'two'"),
    "infinite": ("growth = 5", "growth = inf", "context.growth = 'inf'"),
    "true is no number": ("growth = 5", "growth = true", "context.growth = 'True'"),
    "half a session": ("sessions = 400", "sessions = 4.5", "line 4: window.sessions = '4.5'; expected a whole number"),
    "an end after 2100": ("start = 2026-", "start = 2100-", "line 2: window.start = '2100-"),
    "a start before 1970": ("start = 2026-", "start = 1900-", "a time from 1970 on, from which the days of the window"),
    "no zone": ("02:00:00+02:00", "02:00:00", "line 2: window.start"),
    "probabilities that do not sum": ("mid = [0.3, 0.7]", "mid = [0.3, 0.6]",
                                      "line 32: classes.next.mid = '[0.3, 0.6]'; expected probabilities that sum to 1, "
                                      "not to 0.9"),
    "negative probability": ("mid = [0.3, 0.7]", "mid = [-0.3, 1.3]", "line 32: classes.next.mid"),
    "too few probabilities": ("mid = [0.3, 0.7]", "mid = [1.0]", "expected a list of 2 numbers"),
    "weights that do not sum": ("weight = 0.75", "weight = 0.5", "line 12: depth.parts = '[0.25, 0.5]'"),
    "unknown key of a part": ("sigma = 0\n", "sigma = 0\nmean = 3\n", "line 20: unknown key depth.parts.2.mean"),
    "no arrivals at all": ("days = [1, 1, 1, 1, 1, 0, 0]", "days = [0, 0, 0, 0, 0, 0, 0]", "line 8: arrivals.days"),
    "quantiles that fall": ("[0.5, 120]", "[0.5, 20]", "line 22: gaps.inter"),
    "quantiles without an end": (", [1, 7200]]", "]", "line 22: gaps.inter"),
    "shares out of order": ("[0.5, 120], ", "[0.5, 120], [0.4, 130], ", "line 22: gaps.inter"),
    "no model of a class": ('class = "spine"', 'class = "mid"', "expected a model of class spine"),
    "unknown class": ('class = "spine"', 'class = "core"', "line 41: models.2.class = 'core'; expected spine, mid"),
    "names within names": ('name = "big-1"', 'name = "wise-12"', "line 40: models.2.name = 'wise-12'"),
    "regions twice": ('["north", "south"]', '["north", "north"]', "placement.regions"),
    "a span upside down": ("busy = [0.5, 0.9]", "busy = [0.9, 0.5]", "durations.busy"),
    "survival above one": ("[60, 0.9]", "[60, 1.9]", "reuse.idle"),
    "least above window": ("least = 100", "least = 300000",
                           "line 73: context.least = '300000'; expected at most window"),
    "no TOML": ("days = 2", "days = = 2", "at line 3"),
    "a list for a table": ("[reuse.same]\nspine = [0, 0, 0, 1]\nmid = [0, 0, 0, 1]\n", "", "reuse.same is missing"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_bad_profile_is_refused_with_its_line(case: str, tmp_path: Path) -> None:
    right, wrong, message = WRONG[case]
    assert SMALL.count(right) >= 1, "the case changes nothing"
    head, _, tail = SMALL.rpartition(right) if case == "unknown class" else SMALL.partition(right)
    with pytest.raises(UsageError) as caught:
        load_profile(saved(tmp_path, head + wrong + tail))
    assert message in str(caught.value)
    assert "fleet.toml" in str(caught.value)


def test_an_unknown_profile_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"Known profiles: .*research"):
        load_profile("reserch")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_profile(str(tmp_path / "none.toml"))


def test_a_profile_that_builds_on_another(tmp_path: Path) -> None:
    saved(tmp_path, SMALL)
    part = "[[depth.parts]]\nweight = 1\nmedian = 2\nsigma = 0\n"
    over = saved(tmp_path, f'base = "fleet.toml"\n[window]\ndays = 3\n{part}', "over.toml")
    profile = load_profile(over)
    assert profile.window.days == 3
    assert profile.window.sessions == 400
    assert len(profile.depth.parts) == 1
    with pytest.raises(UsageError, match=r"wrong\.toml, line 3: window\.days"):
        load_profile(saved(tmp_path, 'base = "fleet.toml"\n[window]\ndays = -3\n', "wrong.toml"))
    # What the base says wrong is at a line of the base.
    saved(tmp_path, SMALL.replace("days = 2", "days = 0"))
    with pytest.raises(UsageError, match=r"fleet\.toml, line 3: window\.days"):
        load_profile(saved(tmp_path, 'base = "fleet.toml"\n[window]\nsessions = 3\n', "wrong.toml"))


def test_profiles_that_build_on_each_other(tmp_path: Path) -> None:
    saved(tmp_path, 'base = "b.toml"\n', "b.toml")
    with pytest.raises(UsageError, match="does not build on this one"):
        load_profile(str(tmp_path / "b.toml"))


@pytest.mark.parametrize("name", profiles())
def test_shipped_profiles_load_and_say_where_each_value_comes_from(name: str) -> None:
    profile = load_profile(name)
    assert profile.name == name
    for number, line in enumerate(profiles()[name].read_text(encoding="utf-8").splitlines(), start=1):
        if re.match(r"""\s*["\w+]+ = """, line) and not re.match(r"base|name|class|broad", line):
            assert re.search(r"# (published|derived|assumed)\b", line), f"{name}.toml, line {number}: {line}"
