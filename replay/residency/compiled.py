"""How this folder compiles its loops.

Every kernel gets arrays of the same types (those of `Stream`, read-only), so each compiles once and
its machine code is kept on disk beside the source. Kernels hold no lock while they run: cells of a
replay run on as many threads as there are cores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core import cgutils, types
from numba.extending import intrinsic
from numpy.typing import NDArray

__all__ = ["AHEAD", "compiled", "prefetch"]

Function = TypeVar("Function", bound=Callable[..., object])

#: Calls between the prefetch of an object's node and its use: at 5 to 15 ns a call about one access to memory.
AHEAD = 16


def compiled(function: Function) -> Function:
    """`function`, compiled to machine code at its first call.

    A kernel's kept code is renewed when its own file changes, not when a file it imports from
    does: a helper that a kernel calls belongs in the same file. (`prefetch` changes no result.)
    """
    return cast(Function, numba.njit(cache=True, nogil=True)(function))


_code: Any = cgutils


def _prefetch(typing: Any, array: Any, row: Any) -> Any:
    """What `prefetch` compiles to: LLVM's instruction of that name."""
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows = context.make_array(array)(context, builder, arguments[0])
        at = [context.cast(builder, arguments[1], row, types.intp), context.get_constant(types.intp, 0)]
        pointer = _code.get_item_pointer(context, builder, array, rows, at, wraparound=False)
        flag = _code.int32_t
        shape = _code.ir.FunctionType(_code.ir.VoidType(), [_code.voidptr_t, flag, flag, flag])
        instruction = _code.get_or_insert_function(builder.module, shape, "llvm.prefetch.p0")
        # To read, to keep in every cache, data.
        builder.call(instruction, [builder.bitcast(pointer, _code.voidptr_t), *(flag(of) for of in (0, 3, 1))])
        return context.get_dummy_value()
    return types.void(array, row), emit


#: In a kernel: fetch a row of a table of two columns into the caches, which a later call reads. It waits for nothing.
prefetch = cast(Callable[[NDArray[Any], int], None], intrinsic(_prefetch))
