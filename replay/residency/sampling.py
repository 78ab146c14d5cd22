"""Whole-session sampling: a share of the sessions, each with all its calls, chosen by their ids alone.

The first 60 bits of md5(seed ':' session_id), as 15 hexadecimal digits, are a number that is spread evenly over
[0, 2^60). A session is in the sample iff it is below fraction * 2^60: in the same sample on every engine, on every
run and in every window, and in the sample of every larger fraction of the same seed. The three bits that follow split
the sample into `GROUPS` groups, from which its error is known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from metrics.core.engine import Engine
from metrics.core.identity import Identity
from telemetry.errors import InputError, UsageError, quoted

__all__ = ["GROUPS", "SAMPLED", "Drawn", "EmptySampleError", "Sample", "draw_sample", "parse_sample"]

#: Groups of a sample: two hexadecimal digits each.
GROUPS = 8

#: The table that `draw_sample` makes: `session`, `sample_group`.
SAMPLED = "sampled_sessions"

_DIGITS = 15  # of 4 bits: 60 bits
_FRACTION = re.compile(r"0\.[0-9]{1,15}|1(?:\.0{1,15})?")
_SEED = re.compile(r"[0-9]{1,18}")

_DRAW = """
    select session, cast(instr('02468ace', substr(hashed, {next}, 1)) + instr('13579bdf', substr(hashed, {next}, 1)) - 1
                         as smallint) as sample_group
    from (select session, md5(concat('{seed}', ':', session_id)) as hashed from {ids} as ids) as hashes
    where substr(hashed, 1, {digits}) < '{bound}'"""


@dataclass(frozen=True)
class Sample:
    """A sample as it was asked for.

    Attributes
    ----------
    label : str
        The fraction as a decimal, more than 0 and less than 1.
    seed : int
    """

    label: str
    seed: int = 0

    @property
    def fraction(self) -> Fraction:
        """Share of the sessions, exactly as written."""
        return Fraction(self.label)

    @property
    def bound(self) -> str:
        """floor(fraction * 2^60) in as many digits as are compared."""
        return f"{int(self.fraction * 16**_DIGITS):0{_DIGITS}x}"

    def __str__(self) -> str:
        return f"fraction {self.label}, seed {self.seed}"


@dataclass(frozen=True)
class Drawn:
    """A sample, and the stream that it was drawn from.

    Attributes
    ----------
    sample : Sample
    sessions, calls : int
        Of the whole stream, drawn or not.
    """

    sample: Sample
    sessions: int
    calls: int


class EmptySampleError(InputError):
    """No session is in the sample."""

    def __init__(self, sample: Sample, sessions: int, where: str) -> None:
        super().__init__(f"the sample of {sample} is empty: none of the {sessions:,} sessions of {where} is in it. "
                         "Draw more with a larger --sample-sessions, or others with --sample-seed.")


def parse_sample(fraction: str, seed: str) -> Sample | None:
    """The sample that a command line asks for; None for the fraction 1, which leaves nobody out.

    Raises
    ------
    UsageError
        A fraction that is no decimal in (0, 1], a seed that is no number.
    """
    if not _FRACTION.fullmatch(fraction) or not Fraction(fraction):
        raise UsageError(f"--sample-sessions {quoted(fraction)}: write the share of the sessions as a decimal, such as "
                         "0.05; more than 0, at most 1, at most 15 digits after the point.")
    if not _SEED.fullmatch(seed):
        raise UsageError(f"--sample-seed {quoted(seed)}: write a whole number of at most 18 digits.")
    return None if Fraction(fraction) == 1 else Sample(f"{Decimal(fraction).normalize():f}", int(seed))


def draw_sample(engine: Engine, identity: Identity, sample: Sample) -> None:
    """Make the table `SAMPLED` of a sample of the whole input, whatever windows are cut from it.

    Raises
    ------
    EmptySampleError
        When the input has sessions, and none is in the sample.
    """
    engine.create(SAMPLED, _DRAW.format(next=_DIGITS + 1, digits=_DIGITS, seed=sample.seed, ids=identity.ids,
                                        bound=sample.bound))
    if not engine.row(f"select count(*) as n from {SAMPLED}")["n"]:
        sessions = engine.row(f"select count(*) as n from {identity.ids} as ids")["n"]
        if sessions:
            raise EmptySampleError(sample, sessions, "the input")
