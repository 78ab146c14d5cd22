"""Hostile data: labels are data, never markup, code or path (TRAPS 19, 20)."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from html.parser import HTMLParser
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

HOSTILE = (
    "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "</title></style></svg><script>x</script>",
    "'; drop table raw; --", "\" or 1=1", "../../../etc/passwd", "/abs/olute", "C:\\con", "{{ 7*7 }}{% raw %}",
    "\x1b[31mred\x07", "zero\x00byte", "line\nfeed\rreturn", "k" * 10_240, "\u202eright to left", "$\\frac{x}{0$",
    "%s%n%d", "=cmd()", "\ufffe\uffff", "e\u0301" * 50, "😀" * 9, "NULL", "nan", " ", "\ufeffbom",
)


def hostile_csv() -> str:
    sink = io.StringIO()
    writer = csv.writer(sink)
    writer.writerow(["session_id", "timestamp", "context_tokens", "cached_tokens", "output_tokens", "model",
                     "deployment", "region", "turn_id", "call_id", "status", "parent_session_id"])
    for number, label in enumerate(HOSTILE * 2):
        writer.writerow([label, f"2026-03-03T10:{number:02d}:00Z", 1000 + number, 500, 10, label, label, label, label,
                         f"{label}{number}", label, label])
    return sink.getvalue()


class Elements(HTMLParser):
    """Every element and attribute of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]


def check_inert(page: str) -> None:
    found = Elements(page)
    assert not found.tags & {"script", "iframe", "object", "embed", "img", "base", "form"}
    for name, value in found.attributes:
        assert not name.startswith("on"), (name, value)
        assert "javascript:" not in value.lower()
        if name in ("href", "src", "xlink:href"):
            assert value.startswith(("#", "data:image/svg+xml,")), value
    assert "url(http" not in page
    assert "@import" not in page
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", page)


@pytest.mark.parametrize("names", [False, True])
def test_hostile_labels(cli: Any, tools: Any, names: bool) -> None:
    ran = cli.ok(cli.file(hostile_csv()), *(["--names"] if names else []), "--name", HOSTILE[2], page=names)
    assert ran.json("audit")["rows_used"] == 2 * len(HOSTILE)
    assert ran.value("trace.sessions") == len(HOSTILE)
    files = set(tools.contents(ran.out))
    assert all(re.fullmatch(r"\.kvcensus|all/(tables/[a-z_]+\.parquet|[a-z]+\.(json|html))", name) for name in files)
    if names:
        check_inert(ran.page())
        models = set(pq.read_table(ran.out / "all" / "tables" / "models.parquet")["model"].to_pylist())
        assert {"NULL", "nan", " ", HOSTILE[0]} <= models
    else:
        text = tools.published(ran.out)
        for label in ("alert(1)</script> or", "drop table", "etc/passwd", "olute", "kkkkkkkk", "cmd()"):
            assert label not in text
    assert not re.search(r"[\x00-\x08\x0b-\x1f]", ran.stdout)


def test_hostile_values_in_messages_are_escaped(cli: Any) -> None:
    ran = cli.ok(cli.csv("a,\x1b[31m\x00<b>," + "9" * 10_000 + ",1,1" + "," * 9), light=True)
    assert not re.search(r"[\x00-\x08\x0b-\x1f]", ran.stderr)
    assert max(map(len, ran.stderr.splitlines())) < 2000


def test_hostile_file_names_in_messages_are_escaped(cli: Any) -> None:
    ran = cli.ok(cli.file(cli.base + "bad\n", "a\x1b[31m\n\x07.csv"), light=True)
    assert not re.search(r"[\x00-\x08\x0b-\x1f]", ran.stderr)


def test_lone_surrogates_and_nul_in_json(cli: Any) -> None:
    line = '{"session_id": %s, "timestamp": "2026-03-03T00:00:%02dZ", "context_tokens": 5, "model": %s}\n'
    labels = ('"\\ud800"', '"\\udfff\\ud800"', '"\\u0000"', '"a"', '{"a": 1}', "[]", "7", "7.0", "true", "null")
    text = "".join(line % (label, second, label) for second, label in enumerate(labels * 2))
    ran = cli.ok(cli.file(text, "calls.jsonl"), "--names", page=True)
    assert ran.json("audit")["rows_used"] == 2 * len(labels)
    check_inert(ran.page())


@pytest.mark.parametrize("form", ["crlf", "bom", "quoted", "cr in quotes", "no end", "blank lines", "tsv",
                                  "gzip members"])
def test_forms_of_csv(cli: Any, form: str) -> None:
    text, name = cli.base, "calls.csv"
    if form == "crlf":
        text = text.replace("\n", "\r\n")
    elif form == "bom":
        text = "\ufeff" + text
    elif form == "quoted":
        text = "\n".join(",".join(f'"{cell}"' for cell in line.split(",")) for line in text.splitlines()) + "\n"
    elif form == "cr in quotes":
        text = text.replace("quagga-a", '"quagga\r\n""a"""')
    elif form == "no end":
        text = text.rstrip("\n")
    elif form == "blank lines":
        text = text.replace("\n", "\n\n")
    elif form == "tsv":
        text, name = text.replace(",", "\t"), "calls.tsv"
    content = text.encode()
    if form == "gzip members":
        content, name = gzip.compress(content[:700]) + gzip.compress(content[700:]), "calls.csv.gz"
    ran = cli.ok(cli.file(content, name), "--strict", light=True)
    assert ran.json("audit")["rows_used"] == 20
    assert sum(ran.json("audit")["rows_excluded"].values()) == 0


def test_a_file_under_two_names_counts_once(cli: Any) -> None:
    data = cli.file()
    copy, link = cli.file(name="copy.csv"), data.with_name("link.csv")
    link.symlink_to(data)
    audit = cli.ok(data, copy, link, light=True).json("audit")
    assert (audit["rows_read"], audit["rows_used"], audit["rows_excluded"]["duplicate"]) == (40, 20, 20)
    assert audit["files"] == 2


def test_hive_folder_and_mixed_kinds(cli: Any) -> None:
    rows = [dict(zip(cli.header.split(","), row.split(","), strict=True)) for row in cli.rows]
    table = pa.Table.from_pylist([{k: v for k, v in row.items() if k not in ("region", "model")} for row in rows[:8]])
    folder = cli.folder / "in" / "region=eu%20west" / "model=okapi-x"
    folder.mkdir(parents=True)
    pq.write_table(table, folder / "part-0.parquet")
    cli.file("\n".join([cli.header, *cli.rows[8:15]]) + "\n")
    cli.file("".join(json.dumps(row) + "\n" for row in rows[15:]), "more/calls.ndjson")
    for name in ("_SUCCESS", ".hidden.csv", "_tmp/part.csv", "notes.txt"):
        cli.file(b"garbage", name)
    ran = cli.ok(cli.folder / "in", "--names", "--strict")
    assert ran.json("audit")["rows_used"] == 20
    assert ran.json("audit")["files"] == 3
    models = pq.read_table(ran.out / "all" / "tables" / "models.parquet")["model"].to_pylist()
    assert set(models) == {"okapi-x", "okapi-large", "okapi-small"}


def test_the_same_bytes_in_two_partitions_are_two_calls(cli: Any) -> None:
    text = "timestamp,context_tokens\n2026-03-03T00:00:00Z,5\n"
    cli.file(text, "region=a/part-0.csv")
    cli.file(text, "region=b/part-0.csv")
    assert cli.ok(cli.folder / "in", light=True).json("audit")["rows_used"] == 2
