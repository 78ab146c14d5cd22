"""How this folder compiles its loops: once for each kind of array, kept on disk beside the source.

A kernel's kept code is renewed when its own file changes, so a kernel calls no function of another
file. Kernels hold no lock, and use the scalar functions of the C maths library, whose results do not
depend on where in an array a value stands: blocks of any size give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["Flags", "Floats", "Ints", "Longs", "compiled"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Flags = NDArray[np.bool_]
Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """`function`, compiled to machine code at its first call."""
    return cast(Function, numba.njit(cache=True, nogil=True)(function))
