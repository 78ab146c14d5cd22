"""All that we use of vLLM, and where its versions differ: features are looked for here and nowhere else.

vLLM calls these parts experimental. What differs between 0.25 and 0.32:

* a unit of the tier is a block up to 0.29 and a chunk from 0.30;
* the connector shows a request's context by `touch` up to 0.30; from 0.31 on a request's context records it.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import vllm

from kvcensus_gate.errors import GateError

try:
    from vllm.distributed.kv_transfer.kv_connector.v1.offloading.metrics import OffloadingConnectorStats
    from vllm.logger import init_logger
    from vllm.platforms import current_platform
    from vllm.v1.kv_offload.base import (
        GPULoadStoreSpec,
        LoadStoreSpec,
        OffloadingCounterMetadata,
        OffloadingGaugeMetadata,
        OffloadingWorker,
        PrepareStoreOutput,
        ReqContext,
        TransferResult,
    )
    from vllm.v1.kv_offload.cpu.common import CPULoadStoreSpec
    from vllm.v1.kv_offload.cpu.manager import CPUOffloadingManager
    from vllm.v1.kv_offload.cpu.policies.base import CachePolicy
    from vllm.v1.kv_offload.cpu.spec import CPUOffloadingSpec
except ImportError as error:
    raise GateError(f"vLLM {vllm.__version__} lacks what kvcensus_gate stands on: {error}. Install a version that "
                    "kvcensus_gate.vllm.versions lists.") from error

__all__ = ["CPULoadStoreSpec", "CPUOffloadingManager", "CPUOffloadingSpec", "CachePolicy", "GPULoadStoreSpec",
           "LoadStoreSpec", "OffloadingConnectorStats", "OffloadingCounterMetadata", "OffloadingGaugeMetadata",
           "OffloadingWorker", "PrepareStoreOutput", "ReqContext", "TransferResult", "chunks_of", "context_keys",
           "init_logger", "manager_arguments", "needs_host_copy", "vllm_version"]

_UNIT = next((name for name in ("num_chunks", "num_blocks")
              if name in inspect.signature(CPUOffloadingManager.__init__).parameters), None)


def vllm_version() -> str:
    """Of the installed vLLM."""
    return str(vllm.__version__)


def chunks_of(spec: Any) -> int:
    """Chunks that the tier of a spec holds."""
    return int(getattr(spec, _unit()))


def manager_arguments(chunks: int, policy: type) -> dict[str, Any]:
    """Of vLLM's manager: its size, and a cache policy by the place of its class."""
    return {_unit(): chunks, "cache_policy": policy.__name__, "cache_policy_module_path": policy.__module__}


def context_keys(context: Any) -> Sequence[bytes] | None:
    """Keys of a request's whole context so far, first chunk first; None where `touch` shows them."""
    positions = getattr(context, "_offload_key_positions", None)
    return None if positions is None else sorted(positions, key=positions.__getitem__)


def needs_host_copy() -> bool:
    """Whether vLLM has no copies between this platform and host memory."""
    return bool(current_platform.is_cpu())


def _unit() -> str:
    if _UNIT is None:
        raise GateError(f"the offloading manager of vLLM {vllm_version()} counts neither chunks nor blocks. Install "
                        "a version that kvcensus_gate.vllm.versions lists.")
    return _UNIT
