"""Any Arrow column as valid text, with a mask of what cannot be text."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["NOT_TEXT", "Mask", "as_array", "as_text", "null_where", "raw_value", "valid_mask"]

Mask = npt.NDArray[np.bool_]

#: Prefix of bytes that are no UTF-8. A reader puts it before a value that is no scalar (a JSON
#: object where a number belongs), so that each column's rule for what it cannot parse applies.
NOT_TEXT = b"\xff"


def as_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """One array: chunks joined, dictionaries decoded, extension types as their storage."""
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column


def valid_mask(column: pa.Array) -> Mask:
    """True where a value is present."""
    if column.null_count == 0:
        return np.ones(len(column), dtype=np.bool_)
    return np.asarray(column.is_valid().to_numpy(zero_copy_only=False), dtype=np.bool_)


def null_where(column: pa.Array, mask: Mask) -> pa.Array:
    """The column with nulls where the mask is true."""
    if not mask.any():
        return column
    return pc.if_else(pa.array(mask), pa.scalar(None, column.type), column)


def as_text(column: pa.Array | pa.ChunkedArray) -> tuple[pa.Array, Mask]:
    """A column as text.

    The empty text is null. An integral floating-point value reads as its integer, since a tool
    that turns an integer column with nulls into floats would otherwise rename every id.

    Returns
    -------
    pa.StringArray, mask
        The texts, valid UTF-8, and where a value was present that is no text: a nested value,
        or bytes that are not UTF-8. There the text is null.
    """
    column = as_array(column)
    kind = column.type
    none = np.zeros(len(column), dtype=np.bool_)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return _checked(column)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return _checked(column)
    if pa.types.is_null(kind):
        return pa.nulls(len(column), pa.string()), none
    if pa.types.is_floating(kind):
        return _floats(column), none
    if pa.types.is_fixed_size_binary(kind):  # a UUID, as a rule
        return pa.array([value and value.hex() for value in column.to_pylist()], pa.string()), none
    if pa.types.is_nested(kind):
        return pa.nulls(len(column), pa.string()), valid_mask(column)
    try:
        return column.cast(pa.string()), none
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.nulls(len(column), pa.string()), valid_mask(column)


def raw_value(column: pa.Array | pa.ChunkedArray, index: int) -> object:
    """What stood in the export, for a message; never raises on what is no text."""
    scalar = column[index]
    if not scalar.is_valid:
        return "null"
    try:
        value = scalar.as_py()
    except Exception:  # Arrow holds what Python cannot: a year 300,000, text that is no UTF-8, an unknown zone
        value = _unpythonic(as_array(column.slice(index, 1)))
    if isinstance(value, bytes):
        return value.removeprefix(NOT_TEXT).decode("utf-8", "backslashreplace")
    return value


def _unpythonic(one: pa.Array) -> object:
    """The only value of an array, as what Python can hold of it."""
    if pa.types.is_temporal(one.type):
        width = pa.int32() if one.type.bit_width == 32 else pa.int64()
        return f"{one.view(width)[0].as_py()} as {one.type}"
    if not pa.types.is_nested(one.type):
        try:
            return one.cast(pa.binary())[0].as_py()
        except pa.ArrowException:
            pass
    return f"a value of type {one.type} that cannot be shown"


def _checked(column: pa.Array) -> tuple[pa.Array, Mask]:
    """Text or bytes as valid text."""
    bad = np.zeros(len(column), dtype=np.bool_)
    # A view from bytes to text copies nothing; the check that follows is what makes it safe.
    text = column.cast(pa.binary()).cast(pa.string(), safe=False) if _is_view(column.type) else _plain(column)
    if len(text) == 0 or text.buffers()[2] is None:  # nothing, or nothing but nulls and empty texts
        return pa.nulls(len(text), pa.string()), bad
    offsets = np.frombuffer(text.buffers()[1], dtype=np.int32, count=len(text) + 1, offset=4 * text.offset)
    data = np.frombuffer(text.buffers()[2], dtype=np.uint8)[offsets[0]:offsets[-1]]
    if data.max(initial=0) > 0x7F:  # ASCII is valid as it is, and much the quicker to tell
        try:
            text.validate(full=True)
        except pa.ArrowInvalid:
            return _repaired(text)
    empty = offsets[1:] == offsets[:-1]
    if empty.any():
        text = null_where(text, empty)
    return text, bad


def _is_view(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string_view(kind) or pa.types.is_binary_view(kind))


def _plain(column: pa.Array) -> pa.Array:
    """string, large_string, binary or large_binary as string, unchecked."""
    if pa.types.is_string(column.type):
        return column
    if pa.types.is_large_string(column.type) or pa.types.is_large_binary(column.type):
        column = column.cast(pa.large_binary()).cast(pa.binary())
    return pa.Array.from_buffers(pa.string(), len(column), column.buffers(), column.null_count, column.offset)


def _repaired(text: pa.Array) -> tuple[pa.Array, Mask]:
    """The slow way, for a batch that holds bytes which are not UTF-8."""
    raw = pa.Array.from_buffers(pa.binary(), len(text), text.buffers(), text.null_count, text.offset)
    values: list[str | None] = []
    bad = np.zeros(len(text), dtype=np.bool_)
    for index, value in enumerate(raw.to_pylist()):
        try:
            values.append(value.decode("utf-8") if value else None)
        except UnicodeDecodeError:
            values.append(None)
            bad[index] = True
    return pa.array(values, pa.string()), bad


def _floats(column: pa.Array) -> pa.Array:
    """Shortest decimal text; integral values below 2^53 as integers."""
    values = column.cast(pa.float64()).fill_null(0.5).to_numpy()
    with np.errstate(invalid="ignore"):
        integral = (np.abs(values) <= 2.0**53) & (values == np.floor(values))
    text = column.cast(pa.string())
    if not integral.any():
        return text
    whole = pa.array(np.where(integral, values, 0.0).astype(np.int64)).cast(pa.string())
    return pc.if_else(pa.array(integral), whole, text)
