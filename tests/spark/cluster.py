"""A Spark standalone cluster of real processes on the loopback address, for tests of what crosses processes.

Every process it starts, and every process that one of these starts (executors, their Python workers), carries
one variable in its environment. That is how they are found, also when their parent is gone.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

__all__ = ["HOST", "LOGGING", "QUICK", "Cluster", "Submitted", "jvm_options", "missing", "spark_home",
           "standalone_cluster", "without_spark"]

HOST = "127.0.0.1"
START_S = 90.0
STOP_S = 10.0
_MARK = "KVCENSUS_TEST_CLUSTER"
_OLDEST_JAVA = 17
_EXECUTOR = b"org.apache.spark.executor.CoarseGrainedExecutorBackend"
_DEPLOY = "org.apache.spark.deploy"
#: Short runs: the second compiler and a parallel collector cost more than they bring.
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"

#: Without an appender Spark takes this for no configuration at all, and uses its own.
LOGGING = """\
rootLogger.level = {level}
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{{HH:mm:ss.SSS}} %p %c{{1}}: %m%n%ex
"""


def missing() -> str | None:
    """What a Spark cluster needs and this machine lacks, with how to install it; None when all is there."""
    if not Path("/proc/self/environ").exists():
        return "a Spark cluster for tests needs /proc to find its processes, so it runs on Linux only"
    if find_spec("pyspark") is None:
        return "pyspark is not installed: pip install -c constraints.txt -e '.[spark]'"
    return _java_missing()


def _java_missing() -> str | None:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(f"{home}/bin/java" if home else "java")
    advice = f"install {_OLDEST_JAVA} or newer, such as with apt-get install openjdk-17-jre-headless"
    if java is None:
        return f"Java is not installed: {advice}"
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False, timeout=60).stderr
    version = re.search(r'version "(\d+)', said)
    if version is None or int(version[1]) < _OLDEST_JAVA:
        return f"Java is too old for Spark ({said.splitlines()[0] if said else java}): {advice}"
    return None


@dataclass(frozen=True)
class Submitted:
    """How a spark-submit ended."""

    code: int
    stdout: str
    stderr: str


@dataclass
class Cluster:
    """A running cluster.

    Attributes
    ----------
    folder : Path
        Everything below is in it; it goes with the cluster.
    logs : Path
        What the master and the workers say: `master.log`, `worker-0.log`, ...
    work : Path
        The workers' folders; `work/*/app-*/*/stderr` is what executors say.
    url : str
        Of the master, for `--master`.
    master : int
        Process id.
    workers : list of int
        Process ids.
    """

    folder: Path
    mark: str
    url: str = ""
    master: int = 0
    workers: list[int] = field(default_factory=list)
    started: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    @property
    def work(self) -> Path:
        return self.folder / "work"

    @property
    def local(self) -> Path:
        """Scratch; also of drivers, as one that is killed does not clear up."""
        return self.folder / "local"

    def processes(self) -> list[int]:
        """Every living process of the cluster: master, workers, executors, Python workers."""
        entry = f"{_MARK}={self.mark}".encode()
        return [pid for pid in _pids() if entry in _read(pid, "environ").split(b"\0")]

    def executors(self) -> list[int]:
        """The living executors, in order of process id."""
        return [pid for pid in self.processes() if _EXECUTOR in _read(pid, "cmdline").split(b"\0")]

    def environment(self, **more: str) -> dict[str, str]:
        """The environment for a driver outside of the cluster; nothing of a user's own Spark is in it."""
        return {**without_spark(), "SPARK_HOME": str(spark_home()), "SPARK_CONF_DIR": str(self.folder / "driver-conf"),
                "SPARK_LOCAL_IP": HOST, "PYSPARK_PYTHON": sys.executable, **more}

    def command(self, script: Path, *words: object, options: Sequence[str] = ()) -> list[str]:
        """The spark-submit of a script; `options` are those of spark-submit."""
        settings = {"spark.ui.enabled": "false", "spark.driver.bindAddress": HOST, "spark.driver.host": HOST,
                    "spark.driver.extraJavaOptions": jvm_options(self.local),
                    "spark.executor.extraJavaOptions": jvm_options(self.local),
                    "spark.ui.showConsoleProgress": "false", "spark.local.dir": str(self.local)}
        confs = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
        return [str(spark_home() / "bin" / "spark-submit"), "--master", self.url, *confs, *options, str(script),
                *map(str, words)]

    def submit(self, script: Path, *words: object, options: Sequence[str] = (), seconds: float = 180,
               cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Submitted:
        """Run a script on the cluster by spark-submit, to its end."""
        done = subprocess.run(self.command(script, *words, options=options), env=self.environment(**(env or {})),
                              cwd=cwd, capture_output=True, text=True, timeout=seconds, check=False)
        return Submitted(done.returncode, done.stdout, done.stderr)

    def log(self) -> str:
        """The last lines of every log, for the message of a test that fails."""
        files = [*sorted(self.logs.glob("*.log")), *sorted(self.work.glob("*/app-*/*/stderr"))]
        return "\n".join(f"== {path}\n" + "\n".join(path.read_text(errors="replace").splitlines()[-15:])
                         for path in files)


@contextmanager
def standalone_cluster(workers: int = 2, cores: int = 1, memory: str = "1g") -> Iterator[Cluster]:
    """A master and workers, ready for work; at the end no process of theirs is left.

    Parameters
    ----------
    workers, cores : int
        How many workers, and the cores that each offers.
    memory : str
        What each worker offers to executors, such as `1g`.

    Raises
    ------
    RuntimeError
        When it is not ready within START_S seconds, with the ends of the logs.
    """
    folder = Path(tempfile.mkdtemp(prefix="kvcensus-cluster-"))
    cluster = Cluster(folder, uuid.uuid4().hex)
    try:
        for name in ("conf", "driver-conf", "logs", "work", "local"):
            (folder / name).mkdir()
        for name, level in (("conf", "info"), ("driver-conf", "warn")):
            (folder / name / "log4j2.properties").write_text(LOGGING.format(level=level), encoding="utf-8")
        _start(cluster, workers, cores, memory)
        yield cluster
    finally:
        _stop(cluster)
        shutil.rmtree(folder, ignore_errors=True)


def jvm_options(scratch: Path) -> str:
    """For a JVM that runs for seconds, and leaves nothing outside of a folder of ours."""
    return f"{QUICK} -Djava.io.tmpdir={scratch}"


def spark_home() -> Path:
    """The Spark that pyspark carries; it is not imported, as a test may look at what happens before that."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def _start(cluster: Cluster, workers: int, cores: int, memory: str) -> None:
    end = time.monotonic() + START_S
    # Port 0 and a look at the log: a port that was free a moment ago may be taken by now.
    cluster.master = _launch(cluster, "master", f"{_DEPLOY}.master.Master", "--host", HOST, "--port", "0",
                             "--webui-port", "0")
    cluster.url = _said(cluster, "master", r"Starting Spark master at (spark://\S+)", end)
    for number in range(workers):
        cluster.workers.append(_launch(
            cluster, f"worker-{number}", f"{_DEPLOY}.worker.Worker", "--host", HOST, "--port", "0", "--webui-port", "0",
            "--cores", str(cores), "--memory", memory, "--work-dir", str(cluster.work / f"worker-{number}"),
            cluster.url))
    for number in range(workers):
        _said(cluster, f"worker-{number}", r"Successfully registered with master (\S+)", end)


def _launch(cluster: Cluster, name: str, *words: str) -> int:
    environment = {
        **without_spark(), _MARK: cluster.mark, "SPARK_HOME": str(spark_home()),
        "SPARK_CONF_DIR": str(cluster.folder / "conf"), "SPARK_LOCAL_IP": HOST,
        "SPARK_LOCAL_DIRS": str(cluster.local), "SPARK_DAEMON_MEMORY": "256m",
        # The REST server listens on one fixed port: two clusters would not stand beside each other.
        "SPARK_DAEMON_JAVA_OPTS": f"{jvm_options(cluster.local)} -Dspark.master.rest.enabled=false",
        "SPARK_LAUNCHER_OPTS": QUICK,
    }
    with (cluster.logs / f"{name}.log").open("wb") as log:
        # spark-class ends in an exec of java, so its process id is that of the JVM. In a session of its own a
        # Ctrl-C at pytest reaches only pytest, which stops the cluster in its order.
        process = subprocess.Popen([str(spark_home() / "bin" / "spark-class"), *words], env=environment,
                                   cwd=cluster.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                   start_new_session=True)
    cluster.started[name] = process
    return process.pid


def _said(cluster: Cluster, name: str, pattern: str, end: float) -> str:
    """Wait until a log has a line, and give the group of the pattern."""
    path, process = cluster.logs / f"{name}.log", cluster.started[name]
    while True:
        found = re.search(pattern, path.read_text(errors="replace"))
        if found:
            return found[1]
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"the {name} did not start:\n{cluster.log()}")
        time.sleep(0.05)


def _stop(cluster: Cluster) -> None:
    """Workers first, as they end their executors; what does not go by itself is killed."""
    end = time.monotonic() + STOP_S
    for process in reversed(cluster.started.values()):
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
    for process in cluster.started.values():
        with suppress(subprocess.TimeoutExpired):
            process.wait(max(end - time.monotonic(), 0))
    _wait(lambda: not cluster.processes(), end)
    end = time.monotonic() + STOP_S
    while (left := cluster.processes()) and time.monotonic() < end:
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in cluster.started.values():
            process.poll()  # what was killed is a zombie until its parent asks
        time.sleep(0.05)
    if left:
        raise RuntimeError(f"processes of the cluster do not end: {left}")


def _wait(condition: Callable[[], bool], end: float) -> None:
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)


def without_spark() -> dict[str, str]:
    """Our environment, without what tells another Spark where to go."""
    return {name: value for name, value in os.environ.items()
            if not name.startswith(("SPARK_", "PYSPARK_", "HADOOP_", "YARN_")) and name != "JDK_JAVA_OPTIONS"}


def _pids() -> list[int]:
    return sorted(int(name) for name in os.listdir("/proc") if name.isdigit())


def _read(pid: int, what: str) -> bytes:
    """A file of a process; empty when it has ended, is a zombie, or belongs to somebody else."""
    try:
        return Path(f"/proc/{pid}/{what}").read_bytes()
    except OSError:
        return b""
