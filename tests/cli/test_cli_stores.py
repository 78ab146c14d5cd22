"""Input and output in a store: the same results as on a disk, and none where an upload did not come to its end."""

from __future__ import annotations

from typing import Any

from memory_store import MemoryStore, store

__all__ = ["store"]


def test_input_of_a_store_gives_the_bytes_that_a_file_gives(cli: Any, tools: Any, store: MemoryStore) -> None:
    path = cli.file()
    store.objects["lake/in/calls.csv"] = path.read_bytes()
    secret = "s3://AKIAKEY:passw0rd@lake/in/*.csv?endpoint_override=hidden.example"
    here, away = cli.ok(path), cli.ok(secret)
    expected, found = (tools.contents(ran.out) for ran in (here, away))
    assert [name for name in expected if found[name] != expected[name]] == ["all/manifest.json"]
    assert found.keys() == expected.keys()
    assert away.json("manifest")["input"] == here.json("manifest")["input"]
    seen = tools.published(away.out) + away.stdout + away.stderr
    assert not any(part in seen for part in ("AKIAKEY", "passw0rd", "hidden.example"))


def test_input_as_a_file_uri(cli: Any) -> None:
    path = cli.file(name="a b%20.csv")
    assert cli.ok(path.as_uri(), light=True).json("audit")["rows_read"] == len(cli.rows)
    cli.fails(3, (cli.folder / "none.csv").as_uri(), says=["none.csv: no such file"])


def test_bad_rows_of_a_store_are_named_without_credentials(cli: Any, store: MemoryStore) -> None:
    store.objects["lake/calls.csv"] = b"timestamp,context_tokens\n2026-03-03T00:00:00Z,1\nnever,1\n"
    ran = cli("s3://AKIAKEY:passw0rd@lake/calls.csv", "--strict", "--verbose", light=True)
    assert ran.rc == 3
    assert "s3://lake/calls.csv, row 2 after the header, column timestamp: bad_timestamp" in ran.message
    assert "passw0rd" not in ran.stderr
