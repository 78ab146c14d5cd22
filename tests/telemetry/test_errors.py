"""Messages: one line each, whatever stands in names and values."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from telemetry.adapter import DefectLog, Source
from telemetry.errors import InputError, escaped, quoted, shorten


@pytest.mark.parametrize(("value", "shown"), [
    ("plain", "'plain'"),
    ("", "''"),
    (7, "'7'"),
    (None, "'None'"),
    (Decimal("1.50"), "'1.50'"),
    ("a\nb\x1b[31m", r"'a\nb\x1b[31m'"),
    ("back\\slash", r"'back\\slash'"),
    ("\ud800é", r"'\ud800\xe9'"),
    ("x" * 61, f"'{'x' * 60}... (61 characters)'"),
])
def test_a_value_is_escaped_once_in_quotes(value: object, shown: str) -> None:
    assert quoted(value) == shown


def test_a_value_without_a_text_is_shown_too() -> None:
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]
    assert shorten(nested) == "a value of type list that cannot be shown"
    assert shorten(10**5000) == "a value of type int that cannot be shown"


def test_what_cannot_be_printed_is_escaped_and_the_rest_stands() -> None:
    assert escaped("d/é x.csv") == "d/é x.csv"
    assert escaped("a\n\x1b\u202e\udcff\\.csv") == r"a\n\x1b\u202e\udcff\.csv"
    assert escaped(escaped("a\n")) == escaped("a\n")


def test_a_record_is_named_in_one_printable_line() -> None:
    source, log = Source(0, Path("x"), "a\x1b[31m\n.csv"), DefectLog()
    log.note("bad_tokens", source, 3, "tok\x07ens", "1\n2")
    assert log.examples == {"bad_tokens": [r"a\x1b[31m\n.csv, row 3, column tok\x07ens: bad_tokens ('1\n2')"]}
    with pytest.raises(InputError) as caught:
        DefectLog(strict=True).note("bad_tokens", source, 3, "tokens", "x")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(("name", "says"), [
    ("a.csv", "row 3 after the header"), ("A.CSV.gz", "row 3 after the header"), ("a.tsv", "row 3 after the header"),
    ("a.jsonl", "row 3"), ("a.parquet", "row 3"), ("csv.json", "row 3"),
])
def test_a_row_says_where_a_header_is_not_counted(name: str, says: str) -> None:
    assert Source(0, Path(name), name).row(3) == says
