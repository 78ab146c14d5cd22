"""Sentences made from the numbers: every numeral in a finding is bound to a key of the store.

`say(results, "half make at least {depth.p50|call}")` gives text and values. The text may hold no
digit: a number that is typed instead of taken from the store would outlive the data it described.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from urllib.parse import quote

from figures.source import NumberLike, ResultsLike, known, why_of
from figures.units import clean, format_value

__all__ = ["Quote", "Sentence", "Value", "alike", "anchor", "clause", "interval", "lacking", "say", "text"]

_FIELD = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True)
class Value:
    """One number of the store as it stands in a sentence."""

    key: str
    text: str
    title: str
    interval: str = ""


@dataclass(frozen=True)
class Quote:
    """Words of the store (a reason, a name), shown as they are; they may hold digits."""

    key: str
    text: str


@dataclass(frozen=True)
class Sentence:
    """Text, values and quotes in order. Falsy when empty; `+` joins two with a space."""

    parts: tuple[str | Value | Quote, ...] = ()
    missing: bool = False

    def __post_init__(self) -> None:
        for part in self.parts:
            if isinstance(part, str) and any(c.isdigit() for c in part):
                raise ValueError(
                    f"a literal digit in the text of a sentence: {part!r}; bind it to a key "
                    "of the store as {key}, or write it as a word"
                )

    def __bool__(self) -> bool:
        return bool(self.parts)

    def __add__(self, other: Sentence) -> Sentence:
        if not self or not other:
            return self or other
        return Sentence((*self.parts, " ", *other.parts), self.missing and other.missing)

    def plain(self) -> str:
        """The sentence as text, for the description of a figure."""
        return "".join(
            p
            if isinstance(p, str)
            else p.text + (f" ({p.interval})" if isinstance(p, Value) and p.interval else "")
            for p in self.parts
        )

    def __html__(self) -> str:
        """Markup for Jinja2: the values as links to their row of the table of all numbers."""
        return "".join(_markup(part) for part in self.parts)


def _markup(part: str | Value | Quote) -> str:
    if isinstance(part, str):
        return escape(part)
    key = escape(part.key)
    if isinstance(part, Quote):
        return f'<span class="why" data-key="{key}">{escape(part.text)}</span>'
    shown = (
        f' <span class="interval" data-key="{key}">({escape(part.interval)})</span>' if part.interval else ""
    )
    return (
        f'<a class="ref" href="#{quote(anchor(part.key))}">'
        f'<span class="n" data-key="{key}" title="{escape(part.title)}">{escape(part.text)}</span></a>'
        f"{shown}"
    )


def anchor(key: str) -> str:
    """The id of a number's row: `n-depth.p50`. Spaces, which an id must not hold, become `_`."""
    return "n-" + "_".join(key.split())


def text(template: str) -> Sentence:
    """A sentence without numbers."""
    return Sentence((template,))


def say(results: ResultsLike, template: str) -> Sentence:
    """`template` with each `{key}` replaced by its value, `{key|call}` followed by call or calls."""
    parts: list[str | Value | Quote] = []
    for position, piece in enumerate(_FIELD.split(template)):
        if position % 2 == 0:
            if piece:
                parts.append(piece)
            continue
        key, _, noun = piece.partition("|")
        number = results.numbers[key]
        parts.append(_value(key, number))
        if noun:
            parts.append(f" {noun}" if number.value == 1 else f" {noun}s")
    return Sentence(tuple(parts))


def clause(results: ResultsLike, template: str) -> Sentence:
    """As `say`, but nothing at all where a number of it is not known."""
    keys = [field.partition("|")[0] for field in _FIELD.findall(template)]
    return say(results, template) if known(results, *keys) else Sentence()


def alike(results: ResultsLike, *keys: str) -> bool:
    """Whether the numbers read the same, so that naming a second one would say nothing."""
    numbers = [results.numbers[key] for key in keys if known(results, key)]
    return len(numbers) == len(keys) and len({format_value(n.value, n.unit) for n in numbers}) == 1


def interval(number: NumberLike) -> str:
    """`4,700 to 4,730`; empty where there is none, or one that reads as the value itself."""
    if number.lo is None or number.hi is None:
        return ""
    low, high = format_value(number.lo, number.unit), format_value(number.hi, number.unit)
    return "" if low == high == format_value(number.value, number.unit) else f"{low} to {high}"


def lacking(results: ResultsLike, subject: str, keys: tuple[str, ...]) -> Sentence:
    """What stands in place of a finding: what is not known, and why."""
    for key in keys:
        if not known(results, key):
            return Sentence(
                (
                    f"Not known from this trace: {subject}. Reason: ",
                    Quote(key, clean(why_of(results, key), 300)),
                    ".",
                ),
                missing=True,
            )
    return Sentence((f"Not known from this trace: {subject}.",), missing=True)


def _value(key: str, number: NumberLike) -> Value:
    size = "" if number.n is None else f"; n = {number.n:,}"
    title = f"{key} = {clean(number.value)} {number.unit}; {clean(number.population, 160)}{size}"
    return Value(key, format_value(number.value, number.unit), title, interval(number))
