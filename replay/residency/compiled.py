"""How this folder compiles its loops.

Every kernel gets arrays of the same types (those of `Stream`, read-only), so each compiles once and
its machine code is kept on disk beside the source. Kernels hold no lock while they run: cells of a
replay run on as many threads as there are cores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

__all__ = ["compiled"]

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """`function`, compiled to machine code at its first call.

    A kernel's kept code is renewed when its own file changes, not when a file it imports from
    does: a helper that a kernel calls belongs in the same file.
    """
    return cast(Function, numba.njit(cache=True, nogil=True)(function))
