"""What the command lines of all commands share."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import NoReturn

from pipelines.streams import say
from telemetry.errors import UsageError, quoted

__all__ = ["Parser", "memory_limit", "memory_mb", "threads", "whole"]

_UNITS = {"MB": 10**6, "GB": 10**9, "TB": 10**12, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_SIZE = re.compile(r"([1-9][0-9]{0,8}(?:\.[0-9]{1,3})?) ?(MB|GB|TB|MiB|GiB|TiB)")
_MOST_MEMORY = 10**15


class Parser(argparse.ArgumentParser):
    """Usage errors become UsageError, so that every message leaves by one door."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}. See {self.prog} --help.")

    def _print_message(self, message: str, file: object = None) -> None:
        say(message, end="")


def threads(text: str) -> int:
    """A number of threads."""
    if not re.fullmatch(r"[1-9][0-9]{0,3}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of threads (1 to 9999)")
    return int(text)


def memory_limit(text: str | None) -> str | None:
    """What `--memory-limit` was told; UsageError unless it is a size."""
    if text is None:
        return None
    match = _SIZE.fullmatch(text)
    if match is None or float(match[1]) * _UNITS[match[2]] > _MOST_MEMORY:
        raise UsageError(f"--memory-limit {quoted(text)}: write a size such as 8GB (MB, GB, TB, MiB, GiB, TiB), up to "
                         "1000TB.")
    return text


def memory_mb(limit: str | None) -> int | None:
    """A memory limit in MiB."""
    match = None if limit is None else _SIZE.fullmatch(limit)
    return None if match is None else max(int(float(match[1]) * _UNITS[match[2]]) >> 20, 1)


def whole(low: int, high: int) -> Callable[[str], int]:
    """A parser of whole numbers from `low` to `high`."""
    def parse(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,20}", text) or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {low} to {high}")
        return int(text)
    return parse
