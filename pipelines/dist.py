"""`make dist`: what a Spark cluster is given, so that its executors can run our code.

`kvcensus.zip` holds our packages, for `--py-files`: the same sources give the same bytes. `environment.tar.gz`
holds the packages that they import, at the tested versions, for `--archives`; its Python is a link, so the
executors need the same Python (major.minor) at the same place, or at the one that `--python-prefix` names.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pipelines.streams import say, tell
from telemetry.errors import EXIT_OK, InputError, KvcensusError, UsageError

__all__ = ["ARCHIVE", "CODE", "main", "write_code", "write_environment"]

CODE = "kvcensus.zip"
ARCHIVE = "environment.tar.gz"

_ROOT = Path(__file__).resolve().parents[1]
_NOT_SHIPPED = "benchmarks"
#: The oldest time that a zip file can hold.
_TIME = (1980, 1, 1, 0, 0, 0)
_FILE_MODE = 0o100644
_UNIX = 3
#: Never imported, and a tenth of the archive.
_LEFT_OUT = ("*/tests/*", "*/include/*", "*/share/*")
#: Of gzip: the next levels take twice as long for a few percent.
_COMPRESSION = 1


def main(argv: Sequence[str] | None = None) -> int:
    """Make both files; returns the exit code."""
    parser = argparse.ArgumentParser(prog="make dist", description="Pack our code and its environment for Spark.")
    parser.add_argument("--out", type=Path, default=_ROOT / "dist", metavar="DIR", help="where the files go")
    parser.add_argument("--python-prefix", metavar="PREFIX",
                        help="where executors have Python: /usr for /usr/bin/python3 (default: as on this machine)")
    parser.add_argument("--code-only", action="store_true", help=f"make {CODE} only")
    given = parser.parse_args(argv)
    try:
        given.out.mkdir(parents=True, exist_ok=True)
        made = [write_code(given.out / CODE)]
        if not given.code_only:
            made.append(write_environment(given.out / ARCHIVE, given.python_prefix))
    except KvcensusError as error:
        tell(f"make dist: {error}")
        return error.exit_code
    except OSError as error:
        tell(f"make dist: cannot write to {given.out}: {error.strerror or error}. Free space or name another --out.")
        return InputError.exit_code
    for path in made:
        say(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")
    return EXIT_OK


def write_code(path: Path, root: Path = _ROOT) -> Path:
    """Write our packages and their data as a zip file that Python can import from.

    Raises
    ------
    UsageError
        When `root` is no checkout.
    """
    files = {file.relative_to(root).as_posix(): file.read_bytes() for file in _files(_project(root), root)}
    partial = path.with_suffix(".partial")
    # Stored, not deflated: what zlib makes of the same bytes differs from build to build.
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_STORED) as archive:
        for inside, content in sorted(files.items()):
            entry = zipfile.ZipInfo(inside, _TIME)
            entry.create_system, entry.external_attr = _UNIX, _FILE_MODE << 16
            archive.writestr(entry, content)
    partial.replace(path)
    return path


def write_environment(path: Path, python_prefix: str | None = None, root: Path = _ROOT) -> Path:
    """Install what our packages import into a new environment and pack it; nothing is done twice.

    Parameters
    ----------
    python_prefix : str or None
        The prefix of Python on the executors; None when it is that of this machine.

    Raises
    ------
    UsageError
        When venv-pack2 is not installed, and when `root` is no checkout.
    InputError
        When pip cannot install the packages.
    """
    dependencies = _project(root)["project"]["dependencies"]
    constraints = root / "constraints.txt"
    made_of = json.dumps([dependencies, constraints.read_text(encoding="utf-8"), sys.version, sys.base_prefix,
                          python_prefix, _LEFT_OUT])
    key, stamp = hashlib.sha256(made_of.encode()).hexdigest(), path.with_suffix(".sha256")
    if path.is_file() and stamp.is_file() and stamp.read_text(encoding="ascii") == key:
        return path
    venv_pack = _venv_pack()
    stamp.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".environment-") as folder:
        _install(Path(folder), dependencies, constraints)
        _pack(venv_pack, Path(folder), path, python_prefix)
    stamp.write_text(key, encoding="ascii")
    return path


def _project(root: Path) -> dict[str, Any]:
    try:
        return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{root} is no checkout of kvcensus, as it has no pyproject.toml. Run make dist in a "
                         "clone.") from None


def _files(project: dict[str, Any], root: Path) -> Iterator[Path]:
    """The files that setuptools would install, without what only a checkout needs."""
    setuptools = project["tool"]["setuptools"]
    for package in setuptools["packages"]:
        if package != _NOT_SHIPPED:
            for pattern in ("*.py", *setuptools["package-data"].get(package, ())):
                yield from (root / package.replace(".", "/")).glob(pattern)


def _install(folder: Path, dependencies: Sequence[str], constraints: Path) -> None:
    python = folder / "bin" / "python"
    # Without pip: the environment is never changed again, and ours can install into it.
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    done = subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python, "install",
                           "--quiet", "--no-warn-script-location", "--constraint", constraints, *dependencies],
                          check=False)
    if done.returncode:
        raise InputError("pip could not install the packages of the environment; its lines above say why. Check that "
                         "the package index can be reached, and constraints.txt.")


def _venv_pack() -> Any:
    try:
        import venv_pack
    except ImportError:
        raise UsageError("venv-pack2 is not installed. pip install -c constraints.txt -e '.[spark]'") from None
    return venv_pack


def _pack(venv_pack: Any, folder: Path, path: Path, python_prefix: str | None) -> None:
    partial = path.with_suffix(".partial")
    filters = [("exclude", pattern) for pattern in _LEFT_OUT]
    try:
        venv_pack.pack(str(folder), str(partial), format="tar.gz", python_prefix=python_prefix, force=True,
                       compress_level=_COMPRESSION, filters=filters)
    except venv_pack.VenvPackException as error:
        raise InputError(f"the environment cannot be packed: {error}.") from error
    partial.chmod(0o644)  # it comes private from a temporary file, but other users may run the job
    partial.replace(path)


if __name__ == "__main__":
    sys.exit(main())
