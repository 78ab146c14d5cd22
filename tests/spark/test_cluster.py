"""The cluster of the tests: a job from outside runs on executors of its own, and nothing is left after it."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from cluster import Cluster, missing, standalone_cluster

# Each task answers with its executor; the script waits, so that the executors can be looked at.
JOB = """\
import os, pathlib, sys, time
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
def executor(_):
    time.sleep(1)
    with open(f"/proc/{os.getppid()}/stat") as stat:  # the daemon of the Python workers; its parent is the executor
        yield int(stat.read().rpartition(")")[2].split()[1])
found = spark.sparkContext.parallelize(range(4), 4).mapPartitions(executor).collect()
ready, go = map(pathlib.Path, sys.argv[1:])
ready.with_suffix(".new").write_text(" ".join(map(str, sorted(set(found)))))
ready.with_suffix(".new").rename(ready)
end = time.monotonic() + 60
while not go.exists() and time.monotonic() < end:
    time.sleep(0.05)
spark.stop()
sys.exit(3)
"""
EVERY_EXECUTOR = ("--conf", "spark.scheduler.minRegisteredResourcesRatio=1.0")


def test_a_job_from_outside(cluster: Cluster, tmp_path: Path) -> None:
    with job(cluster, tmp_path) as submitted:
        executors = cluster.executors()
        assert len(executors) == len(cluster.workers) == 2
        assert (tmp_path / "ready").read_text().split() == [str(pid) for pid in executors]
        (tmp_path / "go").touch()
        assert submitted.wait(60) == 3
    wait(lambda: not cluster.executors(), "the executors to end")
    assert sorted(cluster.processes()) == sorted([cluster.master, *cluster.workers])
    assert list(cluster.work.glob("*/app-*/*/stderr"))


def test_nothing_is_left_of_a_cluster_with_a_job(spark_here: None, tmp_path: Path) -> None:
    with ExitStack() as later:
        with standalone_cluster(workers=1) as cluster:
            submitted = later.enter_context(job(cluster, tmp_path))
            assert len(cluster.executors()) == 1
            assert len(cluster.processes()) > 3  # and Python workers
        assert submitted.poll() is None
        assert not cluster.processes()
        assert not cluster.folder.exists()


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("cluster.find_spec", lambda name: object())
    assert "apt-get install" in (missing() or "")
    monkeypatch.setattr("cluster.find_spec", lambda name: None)
    assert "pip install" in (missing() or "")


@contextmanager
def job(cluster: Cluster, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """JOB, submitted and at work; killed at the end of the block."""
    script, ready, log = folder / "job.py", folder / "ready", folder / "submit.log"
    script.write_text(JOB, encoding="utf-8")
    with log.open("wb") as stream:
        submitted = subprocess.Popen(cluster.command(script, ready, folder / "go", options=EVERY_EXECUTOR),
                                     env=cluster.environment(), stdout=stream, stderr=stream)
    try:
        wait(lambda: ready.exists() or submitted.poll() is not None, "the job")
        assert ready.exists(), f"{log.read_text()}\n{cluster.log()}"
        yield submitted
    finally:
        submitted.terminate()
        submitted.wait(60)


def wait(condition: Callable[[], bool], what: str, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.05)
