"""The policies inside a real vLLM server: a plugin for vLLM's offloading connector.

vLLM calls `register` in each of its processes. It imports nothing of vLLM that could be missing, so that a server
that does not use the plugin never notices it.
"""

from __future__ import annotations

__all__ = ["SPEC_NAME", "register"]

#: What `spec_name` in `kv_connector_extra_config` asks for.
SPEC_NAME = "kvcensus_gate"


def register() -> None:
    """Make the plugin known to vLLM; as often as it likes."""
    from vllm.v1.kv_offload.factory import OffloadingSpecFactory

    if SPEC_NAME not in OffloadingSpecFactory._registry:
        OffloadingSpecFactory.register_spec(SPEC_NAME, f"{__name__}.spec", "GateSpec")
