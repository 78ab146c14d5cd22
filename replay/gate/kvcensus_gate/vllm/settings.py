"""What the launch line says: the policy, its parameters, a decision log.

    "kv_connector_extra_config": {"spec_name": "kvcensus_gate", "cpu_bytes_to_use": 68719476736,
        "kvcensus_gate": {"policy": "gate", "parameters": {"slack_s": 5.0}}}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from kvcensus_gate.errors import GateError, shorten
from kvcensus_gate.registry import find_policy

__all__ = ["KEY", "Settings", "read_settings"]

#: Under which our settings stand, apart from vLLM's own.
KEY = "kvcensus_gate"
#: vLLM's own choice of what is stored and evicted.
_INSTEAD = ("eviction_policy", "cache_policy_module_path", "store_threshold")


@dataclass(frozen=True)
class Settings:
    """What is to be run.

    Attributes
    ----------
    policy : str
        Its name.
    parameters : mapping
        Of the policy, by name; those left out have their defaults.
    decision_log : str or None
        File for the log of every decision; it must not exist. It holds session ids: treat it as the requests.
    allow_untested : bool
        Run with a version of vLLM with which the plugin was never run.
    """

    policy: str
    parameters: Mapping[str, object] = field(default_factory=dict)
    decision_log: str | None = None
    allow_untested: bool = False


def read_settings(extra: Mapping[str, object]) -> Settings:
    """The settings in `kv_connector_extra_config`, checked.

    Raises
    ------
    GateError
        No settings or no policy; an unknown key, policy or parameter; a value that cannot be used.
    """
    for key in _INSTEAD:
        if key in extra:
            raise GateError(f"{key} in kv_connector_extra_config has no meaning here: kvcensus_gate decides what is "
                            f"stored and evicted. Leave it out; \"{KEY}\": {{\"policy\": ...}} names the policy.")
    given = extra.get(KEY)
    if not isinstance(given, Mapping):
        raise GateError(f"kv_connector_extra_config lacks its settings for kvcensus_gate: \"{KEY}\": {{\"policy\": "
                        f"\"gate\"}}, for instance. It has {shorten(given)} there.")
    known = [each.name for each in fields(Settings)]
    for key in given:
        if key not in known:
            raise GateError(f"unknown setting {shorten(key)!r} in \"{KEY}\" of kv_connector_extra_config. "
                            f"Known settings: {', '.join(known)}.")
    return Settings(_policy(given), _parameters(given), _decision_log(given), _allow_untested(given))


def _policy(given: Mapping[str, object]) -> str:
    name = given.get("policy")
    if not isinstance(name, str):
        raise GateError(f"\"policy\" in \"{KEY}\" of kv_connector_extra_config is the name of a policy, "
                        f"not {shorten(name)}.")
    return find_policy(name).name


def _parameters(given: Mapping[str, object]) -> Mapping[str, object]:
    parameters = given.get("parameters", {})
    if not isinstance(parameters, Mapping):
        raise GateError(f"\"parameters\" in \"{KEY}\" of kv_connector_extra_config are names with values, "
                        f"not {shorten(parameters)}.")
    find_policy(_policy(given)).configure(parameters)
    return parameters


def _decision_log(given: Mapping[str, object]) -> str | None:
    path = given.get("decision_log")
    if path is not None and not (isinstance(path, str) and path):
        raise GateError(f"\"decision_log\" in \"{KEY}\" of kv_connector_extra_config is a file's path, "
                        f"not {shorten(path)}.")
    return path


def _allow_untested(given: Mapping[str, object]) -> bool:
    allowed = given.get("allow_untested", False)
    if not isinstance(allowed, bool):
        raise GateError(f"\"allow_untested\" in \"{KEY}\" of kv_connector_extra_config is true or false, "
                        f"not {shorten(allowed)}.")
    return allowed
