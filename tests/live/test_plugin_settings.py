"""What a launch line may say to the plugin, and which versions of vLLM it runs with. No vLLM is needed for that."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from kvcensus_gate import GateError, known_policies
from kvcensus_gate.vllm.settings import Settings, read_settings
from kvcensus_gate.vllm.versions import TESTED, check_version

ROOT = Path(__file__).resolve().parents[2]


def settings(**given: object) -> Settings:
    return read_settings({"spec_name": "kvcensus_gate", "cpu_bytes_to_use": 1, "kvcensus_gate": given})


def test_every_setting():
    given: dict[str, Any] = {"policy": "gate", "parameters": {"slack_s": 1.5, "live_ttl_s": 0},
                             "decision_log": "/tmp/x", "allow_untested": True}
    assert settings(**given) == Settings("gate", {"slack_s": 1.5, "live_ttl_s": 0}, "/tmp/x", True)


@pytest.mark.parametrize("policy", known_policies())
def test_a_policy_is_enough(policy: str):
    assert settings(policy=policy) == Settings(policy, {}, None, False)


@pytest.mark.parametrize(("given", "message"), [
    ({}, '"policy" in "kvcensus_gate" .* is the name of a policy, not None'),
    ({"policy": 7}, "is the name of a policy, not 7"),
    ({"policy": "lfu"}, "unknown tier policy 'lfu'. Known policies: arc, continuum_ttl, .*, none"),
    ({"policy": "gate", "slack_s": 1}, "unknown setting 'slack_s' .* Known settings: policy, parameters, decision_log, "
                                       "allow_untested"),
    ({"policy": "gate", "parameters": {"slack": 1}}, "policy gate has no parameter 'slack'. It has: slack_s, "),
    ({"policy": "gate", "parameters": {"slack_s": float("nan")}}, "slack_s of policy gate is a number from 0"),
    ({"policy": "gate", "parameters": 5}, '"parameters" .* are names with values, not 5'),
    ({"policy": "gate", "decision_log": True}, '"decision_log" .* is a file\'s path, not True'),
    ({"policy": "gate", "allow_untested": "yes"}, '"allow_untested" .* is true or false, not yes')])
def test_what_cannot_be_used_is_an_error(given: dict[str, object], message: str):
    with pytest.raises(GateError, match=message):
        settings(**given)


@pytest.mark.parametrize(("extra", "message"), [
    ({}, 'lacks its settings for kvcensus_gate: "kvcensus_gate": {"policy": "gate"}'),
    ({"kvcensus_gate": "gate"}, "It has gate there"),
    ({"kvcensus_gate": {"policy": "lru"}, "eviction_policy": "arc"}, "eviction_policy .* has no meaning here"),
    ({"kvcensus_gate": {"policy": "lru"}, "store_threshold": 2}, "store_threshold .* has no meaning here")])
def test_settings_that_are_not_there_or_contradict(extra: dict[str, object], message: str):
    with pytest.raises(GateError, match=message):
        read_settings(extra)


@pytest.mark.parametrize("version", ["0.32.0", "0.27.0", "0.32.1.dev3+gabc", "0.27.0rc1"])
def test_a_version_that_was_run(version: str):
    check_version(version, allow_untested=False)


@pytest.mark.parametrize("version", ["0.33.0", "0.3.2", "1.0", "0.27rc1", "<b>"])
def test_a_version_that_was_not(version: str):
    check_version(version, allow_untested=True)
    with pytest.raises(GateError, match=r'never run with vLLM .* or set "allow_untested": true'):
        check_version(version, allow_untested=False)


def test_an_environment_can_be_made_for_each_version_that_make_names():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    version = next(line for line in makefile.splitlines() if line.startswith("VLLM ?=")).split()[-1]
    assert version in TESTED
    for release in TESTED:
        pins = (ROOT / f"constraints-live-{release}.txt").read_text(encoding="utf-8")
        assert f"\nvllm-cpu=={release}." in pins


def test_vllm_finds_the_plugin():
    project = tomllib.loads((ROOT / "replay/gate/pyproject.toml").read_text(encoding="utf-8"))
    entries = project["project"]["entry-points"]["vllm.general_plugins"]
    assert entries == {"kvcensus_gate": "kvcensus_gate.vllm:register"}
