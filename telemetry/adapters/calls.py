"""Call logs in CSV, JSON lines or Parquet: one record a model call, columns named or mapped."""

from __future__ import annotations

from typing import Final

from telemetry.adapter import Adapter
from telemetry.exports import SUFFIXES, Export
from telemetry.shapes import CALL_SHAPE

__all__ = ["ADAPTER"]

_EXPORT: Final = Export("calls", CALL_SHAPE)

ADAPTER: Final = Adapter(
    name="calls",
    description="call logs in CSV, JSON lines or Parquet, one record a model call",
    suffixes=SUFFIXES,
    read=_EXPORT.read,
    check=_EXPORT.check,
    pieces=_EXPORT.pieces,
)
