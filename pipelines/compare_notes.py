"""In which settings several results differ: what a reader must know before setting numbers side by side."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from figures.compared.spec import Compared
from figures.units import clean

__all__ = ["notes"]

#: Settings that change what a number means, and the words for them. Those of the input are each trace's own.
_SETTINGS = (
    (("geometry",), "KV geometry, so that bytes cannot be compared"),
    (("classes",), "rules for model classes"),
    (("replay", "stream"), "replayed stream"),
    (("replay", "keys"), "replayed objects"),
    (("replay", "release"), "release of objects after their last access"),
    (("replay", "sample"), "sample of the sessions that was replayed"),
)
_VERSIONS = "kvcensus_version"
_MOST_TEXT = 60


def notes(windows: Sequence[Compared]) -> list[str]:
    """One sentence a setting, naming what each result has."""
    found = [_note(what, windows, [_setting(window, path) for window in windows]) for path, what in _SETTINGS]
    found.append(_note("version of kvcensus", windows, [window.results.manifest.get(_VERSIONS) for window in windows]))
    return [note for note in found if note]


def _setting(window: Compared, path: Sequence[str]) -> object:
    value: object = window.results.manifest.get("configuration")
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    if path == ("geometry",) and isinstance(value, Mapping):
        return value.get("name")
    return value


def _note(what: str, windows: Sequence[Compared], values: Sequence[object]) -> str:
    texts = [clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str), 80)
             for value in values]
    if len({json.dumps(value, sort_keys=True, default=str) for value in values}) == 1:
        return ""
    if max(map(len, texts)) > _MOST_TEXT:
        return f"The results differ in their {what}; each report has it under Configuration."
    each = "; ".join(f"{window.label}: {text}" for window, text in zip(windows, texts, strict=True))
    return f"The results differ in their {what}. {each}."
