"""Budgets: how much KV cache may be resident, as users write it and as kernels count it.

Written `10%` (of K*, the peak when nothing is evicted) or `4.7TB`. Counted in units of 1/128 token,
rounded down. Everything in between is exact.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from replay.residency.stream import MAX_UNITS, UNITS
from telemetry.errors import UsageError, shorten

__all__ = ["DEFAULT_BUDGETS", "Budget", "parse_budget", "parse_budgets", "units_to_bytes"]

BYTES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
         "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
#: The largest amount, so that what is counted of it fits 64 bits.
MAX_BYTES = 10**18
ALLOWED = ("Write a share of the no-eviction peak, such as 10% or 0.5%, or a size, such as 4.7TB (units: "
           f"{', '.join(BYTES)}); more than zero, at most 15 digits before and 9 after the point.")
AMOUNT = r"[0-9]{1,15}(?:\.[0-9]{1,9})?"
GRAMMAR = re.compile(rf"({AMOUNT}) ?(%|{'|'.join(BYTES)})")


@dataclass(frozen=True)
class Budget:
    """One budget; exactly one of `share` and `bytes` is set.

    Attributes
    ----------
    label : str
        Canonical text: `10%`, `4.7TB`.
    share : Fraction or None
        Of K*; 1/10 for `10%`.
    bytes : int or None
        Rounded down to a whole byte.
    """

    label: str
    share: Fraction | None = None
    bytes: int | None = None

    @property
    def key(self) -> str:
        """The last part of a result's key: `b10` for 10 %, `b0.5`, `b4.7TB`."""
        return "b" + self.label.removesuffix("%")

    def resolve(self, kstar_units: int, beta: int | Fraction) -> int:
        """The budget in units of 1/128 token, rounded down.

        Parameters
        ----------
        kstar_units : int
            The no-eviction peak, in units.
        beta : int or Fraction
            KV bytes of a token.

        Raises
        ------
        UsageError
            More units than 64 bits hold, or beta <= 0.
        """
        if beta <= 0:
            raise UsageError(f"KV bytes of a token must be more than zero, not {shorten(beta)}.")
        if self.share is not None:
            exact = kstar_units * self.share
        else:
            exact = Fraction(self.bytes or 0) * UNITS / beta
        if exact > MAX_UNITS:
            raise UsageError(f"budget {self.label} is larger than any replay can hold.")
        return int(exact)


def parse_budget(text: str) -> Budget:
    """The budget that `text` names.

    Raises
    ------
    UsageError
        Anything outside the grammar, and zero; the message says what is allowed.
    """
    found = GRAMMAR.fullmatch(text.strip())
    amount = Fraction(found[1]) if found else Fraction(0)
    if found is None or amount == 0:
        raise UsageError(f"budget {shorten(text)!r} is not understood.{_meant(text.strip())} {ALLOWED}")
    label = f"{Decimal(found[1]).normalize():f}{found[2]}"
    if found[2] == "%":
        return Budget(label, share=amount / 100)
    size = int(amount * BYTES[found[2]])
    if size > MAX_BYTES:
        raise UsageError(f"budget {label} is larger than any replay can hold: a million TB at most.")
    return Budget(label, bytes=size)


def _meant(text: str) -> str:
    """A question, where the text lacks but the unit, or its capitals."""
    found = re.fullmatch(rf"({AMOUNT}) ?([A-Za-z]*)", text)
    if found is None or not Fraction(found[1]):
        return ""
    units = [unit for unit in BYTES if unit.lower() == found[2].lower()]
    if not found[2]:
        units = ["%", "B"] if Fraction(found[1]) <= 100 else ["B"]
    return f" Did you mean {' or '.join(found[1] + unit for unit in units)}?" if units else ""


def parse_budgets(texts: Iterable[str]) -> tuple[Budget, ...]:
    """The budgets that `texts` name, in their order.

    Raises
    ------
    UsageError
        As `parse_budget`; also when one is named twice, or none is.
    """
    budgets = tuple(parse_budget(text) for text in texts)
    labels = [budget.label for budget in budgets]
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise UsageError(f"budgets named more than once: {', '.join(twice)}.")
    if not budgets:
        raise UsageError(f"no budget given. {ALLOWED}")
    return budgets


def units_to_bytes(units: int, beta: int | Fraction) -> int:
    """Bytes of so many units of 1/128 token, rounded down."""
    return int(units * Fraction(beta) / UNITS)


DEFAULT_BUDGETS = parse_budgets(["1%", "2%", "5%", "10%", "20%", "50%", "100%"])
