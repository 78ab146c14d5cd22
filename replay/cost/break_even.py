"""At which bandwidth is fetching KV quicker than computing it again? (paper 5.7)

Prefill makes beta * prefill rate bytes of KV a second; a fetch over more than that is quicker. A copy of q times the
size needs q times that. Both take longer for a longer context, in proportion to it, so its length cancels out; what
attention over a long context adds to prefill is not in a single rate, and speaks for fetching.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from replay.cost.platform import Platform

__all__ = ["BreakEven", "break_even"]

#: Parts of fp16's size in which KV is fetched: whole, and as int4 copies.
FORMS = {"fp16": Fraction(1), "int4": Fraction(1, 4)}


@dataclass(frozen=True)
class BreakEven:
    """Fetch against prefill, for one GPU.

    Attributes
    ----------
    form : str
        In which KV is fetched: `fp16` or `int4`.
    bytes_per_s : Fraction
        The bandwidth at which both take as long.
    link_bytes_per_s : Fraction
        Of the platform.
    times : Fraction
        The link's bandwidth over the break-even: above 1 a fetch is quicker.
    """

    form: str
    bytes_per_s: Fraction
    link_bytes_per_s: Fraction

    @property
    def times(self) -> Fraction:
        return self.link_bytes_per_s / self.bytes_per_s


def break_even(platform: Platform) -> list[BreakEven]:
    """For each form of KV."""
    rate = platform.geometry.bytes_per_token * platform.prefill_tokens_per_s.value
    return [BreakEven(form, rate * part, platform.link_bytes_per_s.value) for form, part in FORMS.items()]
