"""Random numbers by address: (seed, component, session, index) names four of them.

Philox4x32-10 (Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC 2011) is a counter-based
generator: it keeps no state, so a session draws the same numbers whatever is drawn before it, on
whichever thread. The seed is the key; index, component and session are the counter.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from tracesim.compiled import Floats, Longs, compiled

__all__ = ["LANES", "Component", "Numbers", "normal", "philox"]

#: Numbers at each address.
LANES = 4

_WORD = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_MULTIPLY_0, _MULTIPLY_1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL_0, _WEYL_1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_ROUNDS = 10


class Component(IntEnum):
    """Who draws. A number is never used again for another purpose, or old seeds would give new traces."""

    ARRIVALS = 0
    DEPTH = 1
    TURNS = 2
    GAPS = 3
    CLASSES = 4
    MODELS = 5
    PLACEMENT = 6
    CONTEXT = 7
    CONTEXT_OF_SESSION = 8
    REUSE = 9
    DURATIONS = 10
    FLEET = 11
    HOME = 12
    GAPS_OF_SESSION = 13
    INDEPENDENT = 14
    INDEPENDENT_PLACE = 15
    EVENT_FLEET = 16
    EVENT_SESSION = 17
    EVENT_GAPS = 18
    EVENT_KINDS = 19
    EVENT_CALLS = 20


@compiled
def philox(key: NDArray[np.uint64], counter: NDArray[np.uint64]) -> None:
    """Replace rows of four 32-bit counter words by random words, under a key of two words.

    Parameters
    ----------
    key : uint64 array of shape (2,)
    counter : uint64 array of shape (n, 4)
        Words below 2^32; changed in place.
    """
    for row in range(counter.shape[0]):
        a, b, c, d = counter[row, 0], counter[row, 1], counter[row, 2], counter[row, 3]
        k0, k1 = key[0], key[1]
        for _ in range(_ROUNDS):
            low, high = _MULTIPLY_0 * a, _MULTIPLY_1 * c
            a, b, c, d = (high >> _HALF) ^ b ^ k0, high & _WORD, (low >> _HALF) ^ d ^ k1, low & _WORD
            k0, k1 = (k0 + _WEYL_0) & _WORD, (k1 + _WEYL_1) & _WORD
        counter[row, 0], counter[row, 1], counter[row, 2], counter[row, 3] = a, b, c, d


@compiled
def _counters(component: int, sessions: Longs, offsets: Longs) -> NDArray[np.uint64]:
    """Counter words of every call of some sessions: index, component, session."""
    out = np.empty((offsets[-1], 4), np.uint64)
    for place in range(len(offsets) - 1):
        session = np.uint64(sessions[place])
        for row in range(offsets[place], offsets[place + 1]):
            out[row, 0] = np.uint64(row - offsets[place])
            out[row, 1] = np.uint64(component)
            out[row, 2] = session & _WORD
            out[row, 3] = session >> _HALF
    return out


@compiled
def _fractions(words: NDArray[np.uint64]) -> Floats:
    """32-bit words as numbers strictly between 0 and 1."""
    out = np.empty(words.shape, np.float64)
    for row in range(words.shape[0]):
        for lane in range(words.shape[1]):
            out[row, lane] = (np.float64(words[row, lane]) + 0.5) * 2.0**-32
    return out


class Numbers:
    """The random numbers of one seed.

    Parameters
    ----------
    seed : int
        0 to 2^64 - 1.
    """

    def __init__(self, seed: int) -> None:
        if not 0 <= seed < 2**64:
            raise ValueError(f"a seed lies between 0 and 2^64 - 1, not {seed}")
        self._key = np.array([seed & 0xFFFFFFFF, seed >> 32], np.uint64)

    def of_calls(self, component: Component, first: int, offsets: Longs) -> Floats:
        """Uniform numbers of every call of consecutive sessions.

        Parameters
        ----------
        component : Component
        first : int
            Number of the first session.
        offsets : int64 array of shape (sessions + 1,)
            Where the calls of each session begin, and the number of calls.

        Returns
        -------
        float64 array of shape (calls, LANES)
            Strictly between 0 and 1, in steps of 2^-32.
        """
        return self.of_rows(component, np.arange(first, first + len(offsets) - 1, dtype=np.int64), offsets)

    def of_rows(self, component: Component, sessions: Longs, offsets: Longs) -> Floats:
        """The same for the calls, or events, of any sessions: int64 array of shape (sessions,)."""
        words = _counters(int(component), sessions, offsets)
        philox(self._key, words)
        return _fractions(words)

    def of_sessions(self, component: Component, first: int, count: int) -> Floats:
        """Uniform numbers of `count` sessions: shape (count, LANES)."""
        return self.of_calls(component, first, np.arange(count + 1, dtype=np.int64))


@compiled
def normal(p: Floats) -> Floats:
    """Quantiles of the standard normal distribution (Wichura 1988, algorithm AS 241, PPND16).

    Parameters
    ----------
    p : float64 array of shape (n,)
        Strictly between 0 and 1.
    """
    out = np.empty(len(p), np.float64)
    for place in range(len(p)):
        q = p[place] - 0.5
        if abs(q) <= 0.425:
            r = 0.180625 - q * q
            above = (((((((2509.0809287301226727 * r + 33430.575583588128105) * r + 67265.770927008700853) * r
                         + 45921.953931549871457) * r + 13731.693765509461125) * r + 1971.5909503065514427) * r
                      + 133.14166789178437745) * r + 3.387132872796366608)
            below = (((((((5226.495278852545925 * r + 28729.085735721942674) * r + 39307.89580009271061) * r
                         + 21213.794301586595867) * r + 5394.1960214247511077) * r + 687.1870074920579083) * r
                      + 42.313330701600911252) * r + 1.0)
            out[place] = q * above / below
            continue
        r = np.sqrt(-np.log(p[place] if q < 0 else 1.0 - p[place]))
        if r <= 5.0:
            r -= 1.6
            above = (((((((7.7454501427834140764e-4 * r + 0.0227238449892691845833) * r + 0.24178072517745061177) * r
                         + 1.27045825245236838258) * r + 3.64784832476320460504) * r + 5.7694972214606914055) * r
                      + 4.6303378461565452959) * r + 1.42343711074968357734)
            below = (((((((1.05075007164441684324e-9 * r + 5.475938084995344946e-4) * r + 0.0151986665636164571966) * r
                         + 0.14810397642748007459) * r + 0.68976733498510000455) * r + 1.6763848301838038494) * r
                      + 2.05319162663775882187) * r + 1.0)
        else:
            r -= 5.0
            above = (((((((2.01033439929228813265e-7 * r + 2.71155556874348757815e-5) * r
                         + 0.0012426609473880784386) * r + 0.026532189526576123093) * r
                       + 0.29656057182850489123) * r + 1.7848265399172913358) * r
                     + 5.4637849111641143699) * r + 6.6579046435011037772)
            below = (((((((2.04426310338993978564e-15 * r + 1.4215117583164458887e-7) * r + 1.8463183175100546818e-5)
                         * r + 7.868691311456132591e-4) * r + 0.0148753612908506148525) * r
                       + 0.13692988092273580531) * r + 0.59983220655588793769) * r + 1.0)
        out[place] = above / below if q > 0 else -above / below
    return out
