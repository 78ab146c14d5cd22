"""Model classes: which model plays which role in a session (paper 3.4).

Ordered substring rules give each model name a class under two mappings: `conservative`, in which
reasoning models are Mid, and `broad`, in which they are Spine. Both are reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["CLASSES", "DEFAULT_RULES", "MAPPINGS", "ClassRule", "classify"]

#: Order of the classes in tables; a model without a name is `unknown`.
CLASSES = ("spine", "mid", "scoped", "fanout", "unknown")
MAPPINGS = ("conservative", "broad")


@dataclass(frozen=True)
class ClassRule:
    """Names that contain `substring` (any case) have these classes; the first rule that fits wins."""

    substring: str
    conservative: str
    broad: str


DEFAULT_RULES: tuple[ClassRule, ...] = (
    ClassRule("mini", "scoped", "scoped"),
    ClassRule("nano", "fanout", "fanout"),
    ClassRule("haiku", "scoped", "scoped"),
    ClassRule("flash", "scoped", "scoped"),
    ClassRule("deep-research", "spine", "spine"),
    ClassRule("opus", "spine", "spine"),
    ClassRule("reason", "mid", "spine"),
    ClassRule("thinking", "mid", "spine"),
    ClassRule("sonnet", "mid", "spine"),
)


def classify(model: str | None, rules: Sequence[ClassRule]) -> dict[str, str]:
    """The class of a model under each mapping; no rule fits: `fanout`; no name: `unknown`."""
    if model is None:
        return dict.fromkeys(MAPPINGS, "unknown")
    name = model.casefold()
    for rule in rules:
        if rule.substring.casefold() in name:
            return {"conservative": rule.conservative, "broad": rule.broad}
    return dict.fromkeys(MAPPINGS, "fanout")
