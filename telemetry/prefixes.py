"""Chained prefix keys: one number that names a whole prefix of a call's blocks.

Traces that carry block hashes name each block by itself (`hash_ids`). What a prefix cache needs
is the identity of everything up to a block, so block ids are chained:

    key_0 = mix(start * G + mix(id_0)),    key_i = mix(key_{i-1} * G + mix(id_i)),    start = mix(seed)

with G the odd constant 0x9E3779B97F4A7C15 (without it, a plain xor would make the keys of 0, 0-0,
0-0-0 ... equal under seed 0, as both operands would be mix(0)), and `mix` the finaliser of
splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014), a
bijection of 64-bit words. Two calls share a prefix of n blocks iff their n-th keys are equal, up
to collisions: for 10^7 distinct prefixes their chance is (10^7)^2 / 2^65, about 3e-6.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

import numba
import numpy as np
import numpy.typing as npt

__all__ = ["chain_keys", "scope_seed"]

_GAMMA: Final = np.uint64(0x9E3779B97F4A7C15)
_M1: Final = np.uint64(0xBF58476D1CE4E5B9)
_M2: Final = np.uint64(0x94D049BB133111EB)
_S27: Final = np.uint64(27)
_S30: Final = np.uint64(30)
_S31: Final = np.uint64(31)


# Every operand is an explicit uint64: numba turns a mix of uint64 and int64 into float64.
def _mix(word: Any) -> Any:
    word = word + _GAMMA
    word = (word ^ (word >> _S30)) * _M1
    word = (word ^ (word >> _S27)) * _M2
    return word ^ (word >> _S31)


_mix_fast: Any = numba.njit(_mix, cache=True)


def _chain(ids: Any, offsets: Any, seed: Any, keys: Any) -> None:
    start = _mix_fast(seed)
    for row in range(offsets.size - 1):
        key = start
        for i in range(offsets[row], offsets[row + 1]):
            key = _mix_fast(key * _GAMMA + _mix_fast(ids[i]))
            keys[i] = key


_chain_fast: Any = numba.njit(_chain, cache=True)


def chain_keys(flat: npt.NDArray[np.int64], offsets: npt.NDArray[np.int64], seed: int = 0
               ) -> npt.NDArray[np.int64]:
    """Prefix keys of many calls at once, laid out as an Arrow list array is.

    Parameters
    ----------
    flat : int64 array
        Block ids of all calls, one call after another. Any 64-bit value is an id.
    offsets : int64 array
        Call i owns `flat[offsets[i]:offsets[i + 1]]`; not decreasing.
    seed : int
        Scope of the ids, taken modulo 2^64: ids of different scopes never name the same prefix.

    Returns
    -------
    int64 array
        One key for each element of `flat` (0 where no call owns it). The same on every run,
        machine and order of calls.

    Raises
    ------
    ValueError
        If the offsets decrease or point outside `flat`.

    Examples
    --------
    >>> keys = chain_keys(np.array([7, 8, 7, 9]), np.array([0, 2, 4]))
    >>> bool(keys[0] == keys[2]), bool(keys[1] == keys[3])
    (True, False)
    """
    ids = np.ascontiguousarray(flat, dtype=np.int64)
    ends = np.ascontiguousarray(offsets, dtype=np.int64)
    if ends.size and (ends[0] < 0 or ends[-1] > ids.size or bool(np.any(np.diff(ends) < 0))):
        raise ValueError("offsets decrease or point outside the ids")
    keys = np.zeros(ids.size, dtype=np.uint64)
    _chain_fast(ids.view(np.uint64), ends, np.uint64(seed % 2**64), keys)
    return keys.view(np.int64)


def scope_seed(*parts: str) -> int:
    """A seed for `chain_keys` from the names that scope the ids (a file's session id, say)."""
    # The length of each part is hashed too, so that ("a", "bc") and ("ab", "c") differ.
    text = "".join(f"{len(part)}:{part}" for part in parts)
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
