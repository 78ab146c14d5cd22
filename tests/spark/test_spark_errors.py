"""What a failing Spark job says: one line that names the cause, on real jobs in this process."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install -c constraints.txt -e '.[spark]'")

from metrics.engines.spark_errors import spark_errors, translate
from telemetry.errors import InputError, KvcensusError, UsageError, trace_of


@pytest.fixture(scope="module")
def spark(driver: Any) -> Iterator[Any]:
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # executors cannot import a test
    with driver.session("local[2]", {"spark.driver.maxResultSize": "1m"}) as session:
        yield session
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


def failure(job: Callable[[], object], doing: str = "metrics") -> KvcensusError:
    """The error that leaves the block; always one line, without a word of a trace."""
    with pytest.raises(KvcensusError) as raised, spark_errors(doing):
        job()
    message = str(raised.value)
    assert "\n" not in message
    assert "Traceback" not in message
    assert "\tat " not in message
    assert "SQLSTATE" not in message
    assert len(message) < 700
    return raised.value


def one_task(spark: Any, function: Callable[[Any], Any]) -> Callable[[], object]:
    """A job of one task that runs a function on an executor."""
    return lambda: spark.sparkContext.parallelize([0], 1).map(function).collect()


def column(spark: Any, function: Callable[[Any], Any]) -> Any:
    """A DataFrame whose one column is made by a function on an executor."""
    from pyspark.sql.functions import udf

    return spark.range(1).select(udf(function, "bigint", useArrow=False)("id").alias("a"))


def bad_row(_: object) -> int:
    raise InputError("calls.csv, row 3, column é: '[PATH_NOT_FOUND] x' is wrong. Mend it.")


def test_a_store_that_spark_cannot_use(spark: Any) -> None:
    error = failure(lambda: spark.range(1).write.orc("s3a://bucket/work"))
    assert type(error) is UsageError
    assert "Spark itself cannot use the store of --work" in str(error)
    assert "--packages org.apache.hadoop:hadoop-aws:VERSION" in str(error)


def refused(_: object) -> int:
    raise OSError("When uploading key 'x' in bucket 'b': AWS Error ACCESS_DENIED during PutObject operation")


def test_a_store_that_refuses_an_executor(spark: Any) -> None:
    error = failure(one_task(spark, refused))
    assert type(error) is InputError
    assert "a store refuses or does not answer (OSError: When uploading key" in str(error)


@pytest.mark.parametrize("how", ["rdd", "collect", "arrow", "write"])
def test_an_error_of_ours_comes_back_as_it_was_raised(spark: Any, tmp_path: Path, how: str) -> None:
    jobs = {"rdd": one_task(spark, bad_row), "collect": lambda: column(spark, bad_row).collect(),
            "arrow": lambda: column(spark, bad_row).toArrow(),
            "write": lambda: column(spark, bad_row).write.parquet(str(tmp_path / "out"))}
    error = failure(jobs[how])
    assert type(error) is InputError
    assert str(error) == "calls.csv, row 3, column é: '[PATH_NOT_FOUND] x' is wrong. Mend it."
    assert error.exit_code == 3


def caused(_: object) -> int:
    try:
        return {}["k"]  # type: ignore[no-any-return]
    except KeyError as error:
        raise UsageError("--config x.toml: no such column. Name another.") from error


def hidden(_: object) -> int:
    try:
        raise InputError("calls.csv: truncated. Export it again.")
    except InputError as error:
        raise RuntimeError("while reading\n\nsomething") from error


def test_an_error_of_ours_that_has_a_cause(spark: Any) -> None:
    error = failure(column(spark, caused).collect)
    assert type(error) is UsageError
    assert str(error) == "--config x.toml: no such column. Name another."


def test_an_error_of_ours_that_became_the_cause_of_another(spark: Any) -> None:
    error = failure(one_task(spark, hidden))
    assert type(error) is InputError
    assert str(error) == "calls.csv: truncated. Export it again."


def test_a_message_of_several_lines(spark: Any) -> None:
    def many(_: object) -> int:
        raise InputError("one\ntwo\n  three")
    with pytest.raises(InputError) as raised, spark_errors("reading"):
        one_task(spark, many)()
    assert str(raised.value) == "one\ntwo\n  three"


def test_a_fault_of_ours_names_its_place(spark: Any) -> None:
    def wrong(_: object) -> int:
        raise ZeroDivisionError("in the middle")
    error = failure(one_task(spark, wrong), "replays of 2026-01-01")
    assert type(error) is KvcensusError
    assert error.exit_code == 1
    assert str(error).startswith("replays of 2026-01-01: Spark failed (ZeroDivisionError: in the middle, in wrong "
                                 "(test_spark_errors.py, line ")
    assert "--verbose" in str(error)


def test_the_whole_trace_is_there_for_verbose(spark: Any) -> None:
    error = failure(column(spark, lambda _: 1 // 0).collect)
    shown = trace_of(error)
    assert "ZeroDivisionError" in shown
    assert "\tat org.apache.spark" in shown
    assert len(shown.splitlines()) > 20


@pytest.mark.parametrize(("query", "message"), [
    ("select nothere from range(1)",
     "metrics: Spark failed ([UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function parameter with name "
     "`nothere` cannot be resolved. Did you mean one of the following? [`id`]). This is a fault of kvcensus; --verbose "
     "shows the whole trace."),
    ("select 1 frm range(1) x y", "[PARSE_SYNTAX_ERROR]"),
    ("select id // 2 from range(1)", "[PARSE_SYNTAX_ERROR]"),
    ("select * from nothere", "[TABLE_OR_VIEW_NOT_FOUND]"),
    ("select 1 div id from range(1)", "[DIVIDE_BY_ZERO] Division by zero)"),
    ("select sum(id + 9223372036854775800) from range(9)",
     "metrics: an exact integer result does not fit ([ARITHMETIC_OVERFLOW]"),
    ("select cast(id + 9223372036854775800 as int) from range(2)",
     "metrics: an exact integer result does not fit ([CAST_OVERFLOW]"),
])
def test_queries_that_cannot_run_are_our_fault(spark: Any, query: str, message: str) -> None:
    error = failure(lambda: spark.sql(query).collect())
    assert type(error) is KvcensusError
    assert message in str(error)


def stored(spark: Any, folder: Path) -> Any:
    """A DataFrame that lies in one Parquet file."""
    spark.range(10).coalesce(1).write.parquet(str(folder))
    return spark.read.parquet(str(folder))


def test_a_file_that_is_gone(spark: Any, tmp_path: Path) -> None:
    frame = stored(spark, tmp_path / "calls")
    shutil.rmtree(tmp_path / "calls")
    error = failure(frame.collect)
    assert type(error) is InputError
    assert f"{tmp_path}/calls/part-00000" in str(error)
    assert "under the same path" in str(error)
    with pytest.raises(InputError, match=rf"PATH_NOT_FOUND.*{tmp_path}/nothere"), spark_errors("reading"):
        spark.read.parquet(str(tmp_path / "nothere"))


def test_a_file_that_is_truncated(spark: Any, tmp_path: Path) -> None:
    frame = stored(spark, tmp_path / "calls")
    for part in (tmp_path / "calls").iterdir():
        part.unlink() if part.name.startswith(".") else part.write_bytes(b"PAR1")
    error = failure(frame.collect)
    assert type(error) is InputError
    assert f"{tmp_path}/calls/part-00000" in str(error)


def test_a_file_that_is_missing_for_python(spark: Any, tmp_path: Path) -> None:
    name = str(tmp_path / "calls.csv")
    error = failure(one_task(spark, lambda _: open(name).read()))  # noqa: SIM115
    assert type(error) is InputError
    assert name in str(error)


def test_a_place_that_cannot_be_written(spark: Any) -> None:
    error = failure(lambda: spark.range(1).write.parquet("/proc/kvcensus"), "ordering calls")
    assert type(error) is InputError
    assert str(error).startswith("ordering calls: ")
    assert "/proc/kvcensus" in str(error)


def test_a_full_disk(spark: Any, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    try:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"a small disk can only be mounted by root, and not in every container: {error}")
    try:
        frame = spark.range(100_000).selectExpr("uuid() as a")
        error = failure(lambda: frame.write.parquet(str(disk / "out")))
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)  # other tasks may still write to it
    assert type(error) is InputError
    assert str(error).startswith("metrics: a disk of Spark is full (IOException: No space left on device)")
    assert "--work" in str(error)


def test_a_package_that_is_missing(spark: Any) -> None:
    def importing(_: object) -> object:
        import nothere  # type: ignore[import-not-found]
        return nothere
    error = failure(one_task(spark, importing))
    assert type(error) is UsageError
    assert "No module named 'nothere'" in str(error)
    assert "make dist" in str(error)


def test_a_result_that_is_too_large(spark: Any) -> None:
    error = failure(one_task(spark, lambda _: bytes(2 << 20)))
    assert type(error) is InputError
    assert "spark.driver.maxResultSize" in str(error)


def test_a_java_process_that_died(driver: Any) -> None:
    from pyspark.java_gateway import launch_gateway

    gateway = launch_gateway()  # beside the session's
    gateway.proc.kill()
    gateway.proc.wait()
    error = failure(lambda: gateway.jvm.java.lang.System.nanoTime(), "replays")
    assert type(error) is InputError
    assert str(error).startswith("replays: Spark's own process has ended.")
    assert "--driver-memory" in str(error)


def test_java_that_is_missing(driver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.java_gateway import launch_gateway

    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    error = failure(launch_gateway, "starting Spark")
    assert type(error) is UsageError
    assert str(error).startswith("starting Spark: Spark did not start ([JAVA_GATEWAY_EXITED]")
    assert "Java 17" in str(error)


def test_a_python_that_does_not_start(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "python"
    broken.write_text(f"#!{sys.executable}\nraise OSError('no libpython')\n", encoding="utf-8")
    broken.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(broken))
    error = failure(one_task(spark, lambda _: 1))
    assert "OSError: no libpython" in str(error)


@pytest.mark.parametrize("error", [ValueError("ours"), OSError("ours"), InputError("ours")])
def test_what_is_none_of_sparks_passes(error: Exception) -> None:
    assert translate(error, "metrics") is None
    with pytest.raises(type(error)) as raised, spark_errors("metrics"):
        raise error
    assert raised.value is error


def test_a_stop_passes(spark: Any) -> None:
    with pytest.raises(KeyboardInterrupt), spark_errors("metrics"):
        raise KeyboardInterrupt
