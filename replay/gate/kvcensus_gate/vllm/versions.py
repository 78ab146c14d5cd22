"""The versions of vLLM with which the plugin was run."""

from __future__ import annotations

from kvcensus_gate.errors import GateError, shorten

__all__ = ["TESTED", "check_version"]

#: Version -> how it was run. A version is listed once the integration test has passed with it.
TESTED = {
    "0.27": "by hand: the integration test, on the CPU",
    "0.30": "by hand: the integration test, on the CPU",
    "0.31": "by hand: the integration test, on the CPU",
    "0.32": "in CI: the integration test, on the CPU",
}


def check_version(version: str, allow_untested: bool) -> None:
    """Refuse a version that was never run: vLLM calls these parts experimental and changes them.

    Raises
    ------
    GateError
        Not in `TESTED`, and not allowed by the user.
    """
    release = ".".join(version.split(".")[:2])
    if release not in TESTED and not allow_untested:
        raise GateError(f"kvcensus_gate was never run with vLLM {shorten(version)}, only with "
                        f"{', '.join(sorted(TESTED))}. Install one of these, or set \"allow_untested\": true in "
                        "\"kvcensus_gate\" of kv_connector_extra_config and compare outputs with a server without it.")
