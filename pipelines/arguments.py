"""What the command lines of all commands share."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import NoReturn

from pipelines.streams import say
from telemetry.errors import UsageError

__all__ = ["Parser", "threads", "whole"]


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


def whole(low: int, high: int) -> Callable[[str], int]:
    """A parser of whole numbers from `low` to `high`."""
    def parse(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,20}", text) or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {low} to {high}")
        return int(text)
    return parse
