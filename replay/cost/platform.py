"""A platform: what GPUs prefill, hold and cost, from a TOML file in which every value says where it comes from.

Shipped files lie in `platforms/`; `--platform` takes the name of one or a path to another. Values are exact: decimals
are read as written, never through binary floating point.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

from metrics.core.geometry import Geometry, find_geometry
from telemetry.errors import InputError, UsageError, escaped, quoted, shorten

__all__ = ["DEFAULT_PLATFORM", "KINDS", "Fact", "Platform", "load_platform", "platforms"]

DEFAULT_PLATFORM = "h100-llama-2-70b"
#: How a value came about, in the words that a file uses.
KINDS = ("published", "derived", "assumed", "measured")

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
_MOST = 10**18
_MOST_TEXT = 1000


@dataclass(frozen=True)
class Fact:
    """A value, how it came about (of `KINDS`), and its source."""

    value: Fraction
    kind: str
    source: str


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
    if text in shipped:
        return _File(shipped[text]).platform()
    path = Path(text)
    if path.suffix != ".toml":
        raise UsageError(f"unknown platform {quoted(text)}. Known: {', '.join(shipped)}; or a path to a .toml file, "
                         "for which these are models.")
    return _File(path).platform()


class _File:
    """One file while it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "it is no UTF-8 text"
            raise InputError(f"--platform {escaped(str(path))} cannot be read: {why}. Known platforms: "
                             f"{', '.join(platforms())}.") from error
        try:
            self._content = tomllib.loads(self._text, parse_float=Decimal)
        except (ValueError, RecursionError) as error:  # TOMLDecodeError is a ValueError
            raise UsageError(f"--platform {escaped(str(path))} is no TOML: {shorten(error, 200)}.") from error

    def platform(self) -> Platform:
        self._known(self._content, "", (*_TEXTS, *_VALUES))
        gpu, model, geometry, currency = (self._words(self._content, "", name) for name in _TEXTS)
        try:
            beta = find_geometry(geometry)
        except UsageError as error:
            self._wrong("", "geometry", str(error).rstrip("."))
        return Platform(self.path.stem, gpu, model, currency, beta, **{name: self._fact(name) for name in _VALUES})

    def _fact(self, name: str) -> Fact:
        table = self._content.get(name)
        if not isinstance(table, dict):
            self._wrong("", name, f"a [{name}] table with value, kind and source is needed: {_VALUES[name]}")
        self._known(table, name, ("value", "kind", "source"))
        value, kind = table.get("value"), self._words(table, name, "kind")
        price = name == "price_per_gpu_hour"
        if isinstance(value, bool) or not isinstance(value, int | Decimal) or not self._fits(value, whole=not price):
            self._wrong(name, "value", f"{'a number' if price else 'a whole number'} above 0, at most 10^18, is "
                        f"needed: {_VALUES[name]}")
        if kind not in KINDS:
            self._wrong(name, "kind", f"one of {', '.join(KINDS)} is needed")
        return Fact(Fraction(value), kind, self._words(table, name, "source"))

    @staticmethod
    def _fits(value: int | Decimal, *, whole: bool) -> bool:
        number = Decimal(value)
        return number.is_finite() and Decimal("1e-9") <= number <= _MOST and not (whole and number % 1)

    def _words(self, table: Mapping[str, Any], inside: str, name: str) -> str:
        value = table.get(name)
        if not isinstance(value, str) or not value.strip() or len(value) > _MOST_TEXT:
            self._wrong(inside, name, f"a text in quotes of at most {_MOST_TEXT} characters is needed")
        return escaped(value.strip())

    def _known(self, table: Mapping[str, Any], inside: str, known: tuple[str, ...]) -> None:
        for name in table:
            if name not in known:
                close = difflib.get_close_matches(name, known, 1)
                hint = f"did you mean {close[0]}? " if close else ""
                self._wrong(inside, name, f"unknown key; {hint}known: {', '.join(known)}", value=False)

    def _wrong(self, inside: str, name: str, why: str, *, value: bool = True) -> NoReturn:
        """An error that names the key and, where it stands in the file, its line and value."""
        table = self._content.get(inside, {}) if inside else self._content
        given = table.get(name) if value and isinstance(table, dict) else None
        shown = "" if given is None or isinstance(given, dict) else f" = {quoted(given)}"
        line = _line(self._text, inside, name) or (_line(self._text, "", inside) if inside else None)
        where = "" if line is None else f", line {line}"
        key = ".".join(part for part in (inside, shorten(name)) if part)
        raise UsageError(f"--platform {escaped(str(self.path))}{where}: {key}{shown}: {why}.")


def _line(text: str, inside: str, name: str) -> int | None:
    """The line of a key or of the head of a table; None where neither stands alone on its line."""
    table = ""
    for number, line in enumerate(text.splitlines(), start=1):
        head = re.match(r"\s*\[([^\]\[]+)\]", line)
        if head:
            table = head[1].strip().strip("\"'")
            if not inside and table == name:
                return number
        key = re.match(r"\s*([\w\"'.-]+)\s*=", line)
        if key and table == inside and key[1].strip("\"'") == name:
            return number
    return None
