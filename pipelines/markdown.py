"""Tables as Markdown that is readable as it stands."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["aligned"]


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows, the first of which is the head, with columns of one width each."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    text = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    text.insert(1, " | ".join("-" * width for width in widths))
    return "\n".join(f"| {line} |" for line in text)
