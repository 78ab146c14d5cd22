"""Which files an input names, in which order, under which names."""

from __future__ import annotations

import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from threading import Thread

import pytest

from telemetry.adapter import Source
from telemetry.errors import InputError
from telemetry.sources import content_hash, expand

SUFFIXES = (".csv", ".jsonl")
Tree = Callable[..., Path]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """Writes files, each with its own name as content, and goes to their folder."""

    def write(*names: str, **contents: str) -> Path:
        for name in names:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(name)
        for name, content in contents.items():
            (tmp_path / f"{name}.csv").write_text(content)
        monkeypatch.chdir(tmp_path)
        return tmp_path

    return write


def names(*inputs: str) -> list[str]:
    sources = expand(inputs, SUFFIXES)
    assert [source.rank for source in sources] == list(range(len(sources)))
    return [source.name for source in sources]


def test_a_file_of_any_suffix(tree: Tree) -> None:
    tree("a.log")
    assert expand(["a.log"], SUFFIXES) == [Source(0, Path("a.log"), "a.log")]


def test_a_folder_is_read_to_its_bottom_in_order_of_paths(tree: Tree) -> None:
    tree(
        "d/b.csv",
        "d/a/z.csv",
        "d/a.csv",
        "d/a-b/c.jsonl",
        "d/B.CSV",
        "d/note.txt",
        "d/.hidden.csv",
        "d/_metadata.csv",
        "d/.git/x.csv",
        "d/_temporary/x.csv",
    )
    assert names("d") == ["d/B.CSV", "d/a-b/c.jsonl", "d/a.csv", "d/a/z.csv", "d/b.csv"]
    assert names("d/") == names("d")


def test_inputs_are_ordered_whatever_the_order_of_typing(tree: Tree) -> None:
    tree("b/1.csv", "a.csv", "c.csv")
    assert names("c.csv", "b", "a.csv") == ["a.csv", "b/1.csv", "c.csv"]


def test_globs(tree: Tree) -> None:
    tree("x1.csv", "x2.jsonl", "x3.txt", "deep/x4.csv", "x5/inner.csv")
    assert names("x*") == ["x1.csv", "x2.jsonl", "x5/inner.csv"]
    assert names("**/x*.csv") == ["deep/x4.csv", "x1.csv"]


def test_a_name_with_glob_characters_is_a_name_first(tree: Tree) -> None:
    tree("a[1].csv", "a1.csv")
    assert names("a[1].csv") == ["a[1].csv"]


def test_a_file_reached_twice_counts_once(tree: Tree) -> None:
    root = tree("d/a.csv")
    (root / "link.csv").symlink_to("d/a.csv")
    assert names("d", "d/a.csv", "d/*.csv", "./d", "link.csv") == ["d/a.csv"]


def test_loops_of_links_end(tree: Tree) -> None:
    root = tree("d/a.csv", "d/e/b.csv")
    (root / "d/e/up").symlink_to(root / "d")
    (root / "d/again").symlink_to(root / "d/e")
    assert names("d") == ["d/a.csv", "d/again/b.csv"]


def test_hive_partitions(tree: Tree) -> None:
    tree("t/region=eu%20west/day=2026-01-01/a.csv", "t/region=__HIVE_DEFAULT_PARTITION__/day=a=b/a.csv")
    assert [dict(source.partition) for source in expand(["t"], SUFFIXES)] == [
        {"day": "a=b"},
        {"region": "eu west", "day": "2026-01-01"},
    ]
    assert expand(["t/region=eu*/*/a.csv"], SUFFIXES)[0].partition == {
        "region": "eu west",
        "day": "2026-01-01",
    }


def test_the_same_bytes_under_two_names(tree: Tree) -> None:
    tree(a="same", b="same", c="diff", d="same", e="longer")
    assert [source.repeats for source in expand(["."], SUFFIXES)] == [None, "a.csv", None, "a.csv", None]


def test_the_same_bytes_in_two_partitions_are_other_rows(tree: Tree) -> None:
    root = tree("t/region=a/1.csv")
    for place in ("region=a/2.csv", "region=b/1.csv", "region=b/2.csv", "3.csv"):
        (root / "t" / place).parent.mkdir(exist_ok=True)
        (root / "t" / place).write_text("t/region=a/1.csv")
    assert [(source.name, source.repeats) for source in expand(["t"], SUFFIXES)] == [
        ("t/3.csv", None),
        ("t/region=a/1.csv", None),
        ("t/region=a/2.csv", "t/region=a/1.csv"),
        ("t/region=b/1.csv", None),
        ("t/region=b/2.csv", "t/region=b/1.csv"),
    ]


def test_results_of_ours_are_never_input(tree: Tree) -> None:
    root = tree("d/a.csv", "d/report/all/tables/t.csv", "d/e/out/.kvcensus", "d/e/out/x.csv", "d/e/b.csv")
    assert names("d") == ["d/a.csv", "d/e/b.csv", "d/report/all/tables/t.csv"]
    (root / "d/report/.kvcensus").write_text("")
    (root / "d/link").symlink_to(root / "d/report")
    assert names("d") == names("*") == ["d/a.csv", "d/e/b.csv"]
    assert names("d/*") == ["d/a.csv", "d/e/b.csv"]
    with pytest.raises(InputError, match=r"d/report: the folder holds results of kvcensus"):
        expand(["d/report"], SUFFIXES)
    (root / "d/e/.kvcensus").mkdir()  # a folder of that name is no mark
    assert names("d") == ["d/a.csv", "d/e/b.csv"]


def test_names_in_messages_can_be_printed(tree: Tree) -> None:
    tree("d/a\x1b[31m\n\u202e.csv", "d/b\\x1b.csv", "d/é 1.csv")
    assert names("d") == [r"d/a\x1b[31m\n\u202e.csv", r"d/b\\x1b.csv", "d/é 1.csv"]


def test_names_that_are_not_utf8(tree: Tree) -> None:
    root = tree("a.csv")
    for name in (b"b-\xff.csv", b"d-\xff/c.csv"):
        path = root / os.fsdecode(name)
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
        for given in (str(path.relative_to(root)), "."):
            with pytest.raises(InputError, match=r"[bd]-\\udcff.*the name is not UTF-8.*Rename") as caught:
                expand([given], SUFFIXES)
            str(caught.value).encode("ascii")
        path.unlink()
    assert names(".") == ["a.csv"]
    with pytest.raises(InputError, match=r"\\ud800: cannot be looked up"):  # stands for no byte at all
        expand(["\ud800"], SUFFIXES)


@pytest.mark.parametrize("name", ["x" * 300 + ".csv", "a\0b", "d/" * 3000])
def test_names_that_cannot_be_looked_up(tree: Tree, name: str) -> None:
    tree("a.csv")
    with pytest.raises(InputError, match=r"cannot be looked up \(.*\)\. Check the name"):
        expand([name], SUFFIXES)


def test_a_pattern_of_any_length(tree: Tree) -> None:
    tree("aaa.csv")
    assert names("[a]" * 3 + "*" * 300 + ".csv") == ["aaa.csv"]


@pytest.mark.parametrize(
    ("setup", "name", "message"),
    [
        ((), "none.csv", r"none\.csv: no such file.*Check the path"),
        (("d/a.txt",), "d", r"d: the folder holds no matching file.*\.csv, \.jsonl.*Check the folder"),
        (("a.txt",), "*.txt", r"\*\.txt: the pattern matches no file \(1 other names\).*\.csv, \.jsonl"),
        ((), "*.csv", r"\*\.csv: the pattern matches no file.*quote it"),
    ],
)
def test_nothing_found(tree: Tree, setup: tuple[str, ...], name: str, message: str) -> None:
    tree(*setup)
    with pytest.raises(InputError, match=message):
        expand([name], SUFFIXES)


def test_no_input() -> None:
    with pytest.raises(InputError, match="Name a file"):
        expand([], SUFFIXES)


def test_an_empty_file(tree: Tree) -> None:
    tree("d/a.csv", empty="")
    with pytest.raises(InputError, match=r"empty\.csv: the file is empty.*leave it out"):
        expand(["."], SUFFIXES)


def test_what_is_no_file(tree: Tree) -> None:
    root = tree("a.csv")
    os.mkfifo(root / "pipe.csv")
    with pytest.raises(InputError, match=r"pipe\.csv: not a regular file"):
        expand(["pipe.csv"], SUFFIXES)
    (root / "broken.csv").symlink_to("nowhere.csv")
    with pytest.raises(InputError, match=r"broken\.csv: the file cannot be read"):
        expand(["broken.csv"], SUFFIXES)


def test_a_folder_that_may_not_be_entered(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree("closed/a.csv")
    look = Path.stat

    def stat(self: Path, **how: bool) -> os.stat_result:
        if self.name == "a.csv":
            raise PermissionError(13, "Permission denied")
        return look(self, **how)

    monkeypatch.setattr(Path, "stat", stat)
    with pytest.raises(InputError, match=r"closed/a\.csv: cannot be looked up \(Permission denied\)"):
        expand(["closed/a.csv"], SUFFIXES)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_without_permission(tree: Tree) -> None:
    (tree("a.csv") / "a.csv").chmod(0)
    with pytest.raises(InputError, match=r"a\.csv: the file cannot be read.*permissions"):
        expand(["a.csv"], SUFFIXES)


def test_content_hash_depends_on_bytes_and_order_only(tree: Tree) -> None:
    tree(a="1", b="2", c="1")
    expected = sha256(sha256(b"1").digest() + sha256(b"2").digest() + sha256(b"1").digest()).hexdigest()
    assert content_hash(expand(["."], SUFFIXES)) == expected
    Path("a.csv").rename("A.csv")
    assert content_hash(expand(["."], SUFFIXES)) == expected
    Path("A.csv").write_text("3")
    assert content_hash(expand(["."], SUFFIXES)) != expected


def test_content_hash_in_a_thread_and_of_a_vanished_file(tree: Tree) -> None:
    tree(a="1")
    sources, got = expand(["a.csv"], SUFFIXES), []
    thread = Thread(target=lambda: got.append(content_hash(sources)))
    thread.start()
    thread.join()
    assert got == [sha256(sha256(b"1").digest()).hexdigest()]
    Path("a.csv").unlink()
    with pytest.raises(InputError, match=r"a\.csv: the file cannot be read"):
        content_hash(sources)
