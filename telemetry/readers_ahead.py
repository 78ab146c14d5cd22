"""Reading ahead: the next chunk is read while the last one is worked on."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

__all__ = ["ahead"]

_Item = TypeVar("_Item")


def ahead(items: Generator[_Item, None, None]) -> Iterator[_Item]:
    """The items, in order, each taken from the generator in a thread one step before it is asked for.

    An error of the generator is raised where its item would have come. When the consumer stops
    early, the generator is closed, so that it lets go of its file.
    """
    try:
        # One thread, so that the generator never runs twice at a time.
        with ThreadPoolExecutor(1, "kvcensus-read") as pool:
            pending = pool.submit(next, items, None)
            while (item := pending.result()) is not None:
                pending = pool.submit(next, items, None)
                yield item
    finally:
        items.close()
