"""The look at the executors before a job, on executors of a cluster that have what they need, and that have not."""

from __future__ import annotations

import re
import shutil
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from cluster import Cluster

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install -c constraints.txt -e '.[spark]'")

import replay  # noqa: F401 - from the checkout, before a session brings a zip
from pipelines.dist import write_code
from pipelines.executors import PACKAGES, probe
from telemetry.errors import UsageError

SCRIPT = """\
import sys
from pyspark.sql import SparkSession
from pipelines.executors import probe
from telemetry.errors import KvcensusError
spark = SparkSession.builder.getOrCreate()
try:
    print(probe(spark))
    code = 0
except KvcensusError as error:
    print(f"characterize: {error}", file=sys.stderr)
    code = error.exit_code
spark.stop()
sys.exit(code)
"""


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_code(tmp_path_factory.mktemp("dist") / "kvcensus.zip")


@pytest.fixture
def environment(bare_python: Path, tmp_path: Path) -> Path:
    """As `make dist` packs it, but with a pointer to the packages of these tests in place of half a gigabyte."""
    folder = tmp_path / "environment"
    shutil.copytree(bare_python.parents[1], folder, symlinks=True)
    site = next(folder.glob("lib/python*/site-packages"))
    (site / "packages.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    archive = tmp_path / "environment.tar.gz"
    with tarfile.open(archive, "w:gz") as packed:
        packed.add(folder, ".")
    return archive


def refused(spark: Any, seconds: float = 60) -> str:
    """What the look says; always usage, in one line, without a word of a trace."""
    with pytest.raises(UsageError) as raised:
        probe(spark, seconds)
    message = str(raised.value)
    assert "\n" not in message
    assert "Traceback" not in message
    return message


def test_in_this_process(driver: Any) -> None:
    with driver.session("local[2]") as spark:
        assert len(probe(spark)) == 1


def test_a_cluster_that_is_given_everything(cluster: Cluster, driver: Any, code: Path, environment: Path) -> None:
    settings = {"spark.archives": f"{environment}#environment"}
    with driver.session(cluster.url, settings, python="./environment/bin/python") as spark:
        spark.sparkContext.addPyFile(str(code))
        assert len(probe(spark)) == 1
        assert len(cluster.executors()) == 2


def test_code_that_is_not_the_drivers(cluster: Cluster, driver: Any, code: Path, tmp_path: Path) -> None:
    older = tmp_path / "kvcensus.zip"
    with zipfile.ZipFile(code) as new, zipfile.ZipFile(older, "w") as old:
        for name in new.namelist():
            old.writestr(name, new.read(name) + (b"\n" if name == "replay/residency/policies/lru.py" else b""))
    with driver.session(cluster.url) as spark:
        spark.sparkContext.addPyFile(str(older))
        message = refused(spark)
    assert "kvcensus in another version than the driver's" in message
    assert "missing" not in message


def test_packages_of_other_versions(driver: Any, tmp_path: Path) -> None:
    site = tmp_path / "other.zip"
    with zipfile.ZipFile(site, "w") as archive:
        archive.writestr("numpy.py", "__version__ = '1.0'\n")
        archive.writestr("numba.py", "raise OSError('no libLLVM')\n")
        archive.writestr("pyarrow.py", "import nothere\n")
    with driver.session("local[1]") as spark:
        spark.sparkContext.addPyFile(str(site))
        message = refused(spark)
    assert "numpy 1.0 where the driver has " in message
    assert "numba cannot be imported (OSError: no libLLVM)" in message
    assert "pyarrow lacks nothere" in message


def test_no_executor(cluster: Cluster, driver: Any) -> None:
    with driver.session(cluster.url, {"spark.executor.memory": "5g"}) as spark:
        message = refused(spark, seconds=2)
    assert "no executor came in 2 s" in message
    assert "--executor-memory" in message


def test_no_python(driver: Any) -> None:
    with driver.session("local[1]", python="./environment/bin/python") as spark:
        message = refused(spark)
    assert "no Python at ./environment/bin/python" in message
    assert "make dist" in message


def test_another_python(driver: Any, tmp_path: Path) -> None:
    newer = tmp_path / "python"  # PySpark's worker asks for the version first of all
    newer.write_text(f"""#!{sys.executable}
import collections, runpy, sys
named = collections.namedtuple("version_info", "major minor micro releaselevel serial")
sys.version_info = named(3, 99, *sys.version_info[2:])
sys.argv = sys.argv[2:]  # -m pyspark.daemon pyspark.worker
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
""", encoding="utf-8")
    newer.chmod(0o755)
    with driver.session("local[1]", python=newer) as spark:
        message = refused(spark)
    assert "another version" in message
    assert "3.99" in message


def test_what_the_command_says_of_a_bare_python(cluster: Cluster, bare_python: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    ran = cluster.submit(script, env={"PYSPARK_PYTHON": str(bare_python), "PYSPARK_DRIVER_PYTHON": sys.executable})
    assert ran.code == 2, ran.stderr
    said = ran.stdout.splitlines()  # spark-submit sends both streams of a driver to its stdout
    assert len(said) == 1, ran.stdout
    assert re.search(r"^characterize: .* On \S+: " + ", ".join(f"{name} is missing" for name in PACKAGES)
                     + r", kvcensus itself is missing \(telemetry, metrics, replay, pipelines\)\. Make both", said[0])
    for hint in ("make dist", "--py-files", "--archives", "PYSPARK_PYTHON"):
        assert hint in said[0]
    assert "\tat " not in ran.stderr
