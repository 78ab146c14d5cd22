"""A platform: what GPUs prefill, hold and cost, from a TOML file in which every value says where it comes from.

Shipped files lie in `platforms/`; `--platform` takes the name of one or a path to another.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from metrics.core.geometry import Geometry
from replay.facts import KINDS, Fact, FactsFile, find_file

__all__ = ["DEFAULT_PLATFORM", "KINDS", "Fact", "Platform", "load_platform", "platforms"]

DEFAULT_PLATFORM = "h100-llama-2-70b"

_FOLDER = Path(__file__).parent / "platforms"
_TEXTS = ("gpu", "model", "geometry", "currency")
#: Name of a value -> what it is; whole numbers but for the price.
_VALUES = {
    "prefill_tokens_per_s": "context tokens that one GPU prefills in a second",
    "usable_hbm_bytes": "GPU memory of one GPU that is left for KV",
    "gpus_per_replica": "GPUs that serve one copy of the model: GPUs are needed in multiples of it",
    "price_per_gpu_hour": "money for one GPU and hour",
    "link_bytes_per_s": "what one GPU reads from its host in a second",
}

@dataclass(frozen=True)
class Platform:
    """What a fleet is made of.

    Attributes
    ----------
    name : str
        Of a shipped file, or the stem of a file of the user's own.
    gpu, model, currency : str
    geometry : Geometry
        KV bytes of a token of the model.
    prefill_tokens_per_s, usable_hbm_bytes, gpus_per_replica, price_per_gpu_hour, link_bytes_per_s : Fact
        All of one GPU; `gpus_per_replica` in GPUs.
    """

    name: str
    gpu: str
    model: str
    currency: str
    geometry: Geometry
    prefill_tokens_per_s: Fact
    usable_hbm_bytes: Fact
    gpus_per_replica: Fact
    price_per_gpu_hour: Fact
    link_bytes_per_s: Fact

    @property
    def facts(self) -> dict[str, Fact]:
        """Every value by name, in the order of the file."""
        return {name: getattr(self, name) for name in _VALUES}

    def gpus(self, size: int) -> int:
        """GPUs whose memory holds `size` bytes of KV: whole replicas."""
        replica = self.gpus_per_replica.value * self.usable_hbm_bytes.value
        return int(-(-size // replica) * self.gpus_per_replica.value)


def platforms() -> dict[str, Path]:
    """Shipped platforms by name."""
    return {path.stem: path for path in sorted(_FOLDER.glob("*.toml"))}


def load_platform(text: str) -> Platform:
    """The shipped platform called `text`, or that of the file at `text`.

    Raises
    ------
    UsageError
        An unknown name, and a file with a key or a value that cannot be used: the message names key and line.
    InputError
        A file that cannot be read.
    """
    shipped = platforms()
    path = find_file(text, shipped)
    file = FactsFile(path, _TEXTS, _VALUES, ("price_per_gpu_hour",), ", ".join(shipped))
    words, facts = file.content()
    return Platform(path.stem, words["gpu"], words["model"], words["currency"], file.geometry(), **facts)
