"""What a policy may keep of an object, and how much of that fits a budget: a bound is for one such freedom.

A policy that keeps or discards whole objects holds at most budget / 128 tokens after each access. One that may also
keep a copy of q times the size holds at most budget / (128 q) tokens, as many as fit if all are copies. One that has a
host tier of h times the budget for its copies holds budget / 128 whole tokens and h * budget / (128 q) in copies.
Policies with less freedom are bounded by the bounds of more.
"""

from __future__ import annotations

from dataclasses import dataclass

from replay.residency.stream import UNITS

__all__ = ["WHOLE", "Keeping", "Room"]


@dataclass(frozen=True, order=True)
class Room:
    """What an optimum may use of the stream's space-time; see `replay.residency.bounds.pfoo_l`.

    Attributes
    ----------
    largest : int
        Tokens of the largest object that fits at all.
    limit : int
        Tokens times accesses, over the whole stream.
    """

    largest: int
    limit: int


@dataclass(frozen=True)
class Keeping:
    """What a policy may keep.

    Attributes
    ----------
    copy_units : int
        Size of a token in the smallest form that is kept, in units of 1/128 token, 1 to 128: 128 for whole objects,
        32 for int4 copies, q = 32/128.
    host : int
        A tier beside the budget for copies only, in multiples of the budget; the budget then holds whole objects
        only. 0: none.
    """

    copy_units: int = UNITS
    host: int = 0

    @property
    def suffix(self) -> str:
        """Ends the name of a bound: empty, `_q32`, `_q32_h2`."""
        copies = "" if self.copy_units == UNITS and not self.host else f"_q{self.copy_units}"
        return copies + (f"_h{self.host}" if self.host else "")

    @property
    def words(self) -> str:
        """Whom a bound for this is for."""
        copies = f"copies of {self.copy_units}/{UNITS} of their size"
        if self.host:
            return f"policies that keep whole objects in the budget and {copies} in a host tier of {self.host} times it"
        return "policies that keep or discard whole objects" if self.copy_units == UNITS else \
            f"policies that keep objects whole or as {copies}"

    def tiers(self, budget_units: int) -> tuple[int, ...]:
        """Most tokens that each tier holds after an access, its objects in their smallest form."""
        if self.host:
            return budget_units // UNITS, self.host * budget_units // self.copy_units
        return (budget_units // self.copy_units,)

    def room(self, budget_units: int, calls: int) -> Room:
        """The space-time of a stream of so many calls: the budget at each access but the last."""
        accesses = max(calls - 1, 0)
        # budget / 128 + h * budget / copy_units, with host; budget / copy_units, without.
        above, below = (self.copy_units + UNITS * self.host, UNITS * self.copy_units) if self.host \
            else (1, self.copy_units)
        return Room(max(self.tiers(budget_units)), budget_units * accesses * above // below)


#: Whole objects only.
WHOLE = Keeping()
