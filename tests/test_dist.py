"""What `make dist` makes: a zip of our packages that works from inside, and an environment that can be moved."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from figures.registry import all_figures
from pipelines.dist import ARCHIVE, CODE, main, write_code, write_environment
from replay.residency.policy import policies
from telemetry.errors import InputError, UsageError
from telemetry.registry import adapters

ROOT = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.slow  # environments, and processes that compile anew

# What looks for files or for packages beside its own, and a kernel that is compiled and cached.
INSIDE = """\
import sys
import numpy as np
import figures, metrics, pipelines, replay, report_templates, telemetry
for package in (figures, metrics, pipelines, replay, report_templates, telemetry):
    assert package.__file__.startswith(sys.argv[1]), package.__file__
from figures.registry import all_figures
from pipelines.version import VERSION
from replay.residency.policy import policies
from telemetry.prefixes import chain_keys
from telemetry.registry import adapters
print(sorted(adapters()), sorted(policies()), len(all_figures()))
print(VERSION, len(chain_keys(np.array([1, 2]), np.array([0, 2]))))
"""
CALLS = """\
session_id,timestamp,context_tokens,cached_tokens,model
a,2026-03-03T10:00:00Z,1000,0,m
a,2026-03-03T10:01:00Z,1200,1000,m
"""
QUICK = ("--policies", "lru", "--budgets", "10%", "--key", "session")


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_code(tmp_path_factory.mktemp("dist") / CODE)


def python(*words: object, code: Path, cwd: Path) -> str:
    """Run the Python of these tests with the zip before anything else, as executors do."""
    environment = {**os.environ, "PYTHONPATH": str(code), "XDG_CACHE_HOME": str(cwd / "cache")}
    done = subprocess.run([sys.executable, *map(str, words)], cwd=cwd, env=environment, capture_output=True, text=True,
                          timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_same_sources_give_the_same_bytes(code: Path, tmp_path: Path) -> None:
    again = write_code(tmp_path / CODE)
    assert again.read_bytes() == code.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == [CODE]


def test_times_and_rights_of_files_do_not_matter(tmp_path: Path) -> None:
    root = tmp_path / "checkout"
    for name in ("telemetry", "report_templates"):
        (root / name).mkdir(parents=True)
        (root / name / "__init__.py").write_text('"""One."""\n', encoding="utf-8")
        (root / name / "page.css").write_text("p {}\n", encoding="utf-8")
    (root / "pyproject.toml").write_text("""\
[project]
name = "kvcensus"
[tool.setuptools]
packages = ["telemetry", "report_templates"]
[tool.setuptools.package-data]
report_templates = ["*.css"]
""", encoding="utf-8")
    first = write_code(tmp_path / "1.zip", root).read_bytes()
    os.utime(root / "telemetry" / "__init__.py", (1e9, 1e9))
    (root / "telemetry" / "__init__.py").chmod(0o755)
    assert write_code(tmp_path / "2.zip", root).read_bytes() == first
    with zipfile.ZipFile(tmp_path / "1.zip") as archive:
        assert archive.namelist() == ["report_templates/__init__.py", "report_templates/page.css",
                                      "telemetry/__init__.py"]
    (root / "telemetry" / "__init__.py").write_text('"""Two."""\n', encoding="utf-8")
    assert write_code(tmp_path / "3.zip", root).read_bytes() != first


def test_everything_is_found_inside(code: Path, tmp_path: Path) -> None:
    out = python("-c", INSIDE, code, code=code, cwd=tmp_path).splitlines()
    assert out[0] == f"{sorted(adapters())} {sorted(policies())} {len(all_figures())}"
    assert re.fullmatch(r"\d+\.\d+\.\d+ 2", out[1])


def test_a_report_is_made_from_inside(code: Path, tmp_path: Path) -> None:
    (tmp_path / "calls.csv").write_text(CALLS, encoding="utf-8")
    made = {}
    for name, path in (("inside", code), ("checkout", ROOT)):
        python("-m", "pipelines.cli", "characterize", "calls.csv", "--format", "calls", "--out", name, *QUICK,
               code=path, cwd=tmp_path)
        made[name] = {file.name: file.read_bytes() for file in (tmp_path / name / "all").iterdir()
                      if file.is_file() and file.name != "manifest.json"}
    assert "report.html" in made["inside"]
    assert made["inside"] == made["checkout"]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--out", str(tmp_path / "new"), "--code-only"]) == 0
    assert re.fullmatch(rf"{re.escape(str(tmp_path / 'new' / CODE))} \([0-9.]+ MB\)\n", capsys.readouterr().out)
    (tmp_path / "file").touch()
    assert main(["--out", str(tmp_path / "file"), "--code-only"]) == 3
    assert capsys.readouterr().err.startswith(f"make dist: cannot write to {tmp_path / 'file'}: ")


def test_outside_of_a_checkout(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no checkout"):
        write_code(tmp_path / CODE, tmp_path)


def checkout(root: Path, version: str) -> Path:
    """A project that depends on a package that lies beside it, so that nothing is fetched."""
    root.mkdir(exist_ok=True)
    wheel = root / f"ibex-{version}-py3-none-any.whl"
    about = f"ibex-{version}.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("ibex/__init__.py", f"__version__ = '{version}'\n")
        archive.writestr("ibex/tests/__init__.py", "")
        archive.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: ibex\nVersion: {version}\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    (root / "pyproject.toml").write_text(f'[project]\ndependencies = ["ibex @ {wheel.as_uri()}"]\n', encoding="utf-8")
    (root / "constraints.txt").write_text("", encoding="utf-8")
    return root


def test_the_environment_can_be_moved(tmp_path: Path) -> None:
    pytest.importorskip("venv_pack", reason="venv-pack2 is not installed: pip install -c constraints.txt -e '.[spark]'")
    root, out = checkout(tmp_path / "root", "1.0"), tmp_path / "out"
    out.mkdir()
    archive = write_environment(out / ARCHIVE, root=root)
    made = archive.stat()
    assert made.st_mode & 0o777 == 0o644
    assert sorted(path.name for path in out.iterdir()) == ["environment.tar.gz", "environment.tar.sha256"]
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path / "executor" / "environment", filter="fully_trusted")
    show = "import ibex, sys; print(ibex.__version__, ibex.__file__, sys.version_info[:2] == (%d, %d))"
    said = subprocess.run(["./environment/bin/python", "-c", show % sys.version_info[:2]], cwd=tmp_path / "executor",
                          capture_output=True, text=True, check=True).stdout.split()
    assert said[0] == "1.0"
    assert said[1].startswith(str(tmp_path / "executor" / "environment"))
    assert said[2] == "True"
    assert not list((tmp_path / "executor").rglob("ibex/tests"))
    assert write_environment(out / ARCHIVE, root=root).stat().st_mtime_ns == made.st_mtime_ns  # nothing is done twice
    write_environment(out / ARCHIVE, root=checkout(root, "2.0"))
    with tarfile.open(archive) as packed:
        assert any("ibex-2.0.dist-info" in name for name in packed.getnames())


def test_python_that_lies_elsewhere_on_executors(tmp_path: Path) -> None:
    pytest.importorskip("venv_pack", reason="venv-pack2 is not installed: pip install -c constraints.txt -e '.[spark]'")
    archive = write_environment(tmp_path / ARCHIVE, "/opt/python", checkout(tmp_path / "root", "1.0"))
    with tarfile.open(archive) as packed:
        links = {member.name: member.linkname for member in packed.getmembers() if member.issym()}
    assert any(link.startswith("/opt/python/bin/python3") for link in links.values())
    assert not any(link.startswith(sys.base_prefix) for link in links.values())


def test_no_packer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "venv_pack", None)
    with pytest.raises(UsageError, match=r"venv-pack2 is not installed. pip install .*\[spark\]"):
        write_environment(tmp_path / ARCHIVE)
    assert not list(tmp_path.iterdir())


def test_packages_that_cannot_be_installed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("venv_pack", reason="venv-pack2 is not installed: pip install -c constraints.txt -e '.[spark]'")
    root = checkout(tmp_path / "root", "1.0")
    (root / "ibex-1.0-py3-none-any.whl").unlink()
    with pytest.raises(InputError, match="pip could not install"):
        write_environment(tmp_path / ARCHIVE, root=root)
    assert "ibex" in capfd.readouterr().err
    assert not (tmp_path / ARCHIVE).exists()
