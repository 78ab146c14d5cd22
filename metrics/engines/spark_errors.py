"""What went wrong in a Spark job, as one error with one message.

Spark wraps a cause in layers of Java and Python, and its text runs to hundreds of lines. Here it becomes what
is raised anywhere else: an error of ours that an executor raised comes back as it was raised, what a user can
act on says how, and the rest names its root cause. The original stays as `__cause__`.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException

import telemetry.errors
from telemetry.errors import InputError, KvcensusError, UsageError

__all__ = ["EXECUTOR_PYTHON", "spark_errors", "translate"]

#: What to do when executors cannot run our code.
EXECUTOR_PYTHON = (
    "Make both files with `make dist` and submit with --py-files dist/kvcensus.zip --archives "
    "dist/environment.tar.gz#environment, PYSPARK_PYTHON=./environment/bin/python, and PYSPARK_DRIVER_PYTHON set to "
    "the Python of the driver")

_MEMORY = "Give it more with --driver-memory and --executor-memory of spark-submit"
_DISK = "Free space there, or choose other disks with --work and, for spark-submit, --conf spark.local.dir=DIR"
_SHARED = ("The input and the --work folder must be seen by the driver and by every executor under the same path, and "
           "nothing may change them during a run")


@dataclass(frozen=True)
class _Rule:
    """A kind of failure: a text that only it has, the error that it becomes, and what to say.

    `{why}` (the root cause) and the named groups of the pattern can stand in `message`.
    """

    pattern: str
    kind: type[KvcensusError]
    message: str


# The first that fits holds. A full disk and a lost executor have many consequences, so causes come first.
_RULES = (
    _Rule(r"No space left on device|Disk quota exceeded", InputError, f"a disk of Spark is full ({{why}}). {_DISK}."),
    _Rule(r"\[PYTHON_VERSION_MISMATCH\]", UsageError,
          f"the Python of the executors has another version than that of the driver ({{why}}). {EXECUTOR_PYTHON}."),
    _Rule(r'Cannot run program "(?P<program>[^"]*)"', UsageError,
          f"the executors have no Python at {{program}}. {EXECUTOR_PYTHON}."),
    _Rule(r"^(?:ModuleNotFoundError|ImportError): (?P<said>.*)$", UsageError,
          f"the Python of the executors cannot import what it needs ({{said}}). {EXECUTOR_PYTHON}."),
    _Rule(r"java\.lang\.OutOfMemoryError|SparkOutOfMemoryError|\[UNABLE_TO_ACQUIRE_MEMORY\]|^MemoryError\b", InputError,
          f"Spark ran out of memory ({{why}}). {_MEMORY}."),
    _Rule(r"bigger than (?:local )?(?:maxResultSize|spark\.driver\.maxResultSize)", InputError,
          "a result is too large for the driver ({why}). Allow more with --conf spark.driver.maxResultSize=SIZE of "
          "spark-submit, and --driver-memory to hold it."),
    _Rule(r"ExecutorLostFailure|Python worker exited unexpectedly", InputError,
          f"executors were lost ({{why}}). Most often they had too little memory. {_MEMORY}."),
    _Rule(r"\[(?:PATH_NOT_FOUND|FAILED_READ_FILE\.FILE_NOT_EXIST)\]|java\.io\.FileNotFoundException|"
          r"^FileNotFoundError\b|Mkdirs failed to create|AccessControlException|Permission denied", InputError,
          f"a file or folder is not there, or not for the executors ({{why}}). {_SHARED}."),
    _Rule(r"\[FAILED_READ_FILE\.", InputError, f"a file cannot be read ({{why}}). {_SHARED}."),
    _Rule(r"No FileSystem for scheme|Class org\.apache\.hadoop\.fs\.\S+ not found|UnsupportedFileSystemException",
          UsageError, "Spark itself cannot use the store of --work ({why}). Give it the connector, for S3 "
          "--packages org.apache.hadoop:hadoop-aws:VERSION of spark-submit, in the version of its Hadoop."),
    _Rule(r"^OSError: .*(?:AWS Error|google::cloud|Azure|HDFS)", InputError,
          "a store refuses or does not answer ({why}). Check the credentials of the driver and of the executors, and "
          "the network."),
    _Rule(r"\[(?:ARITHMETIC|CAST)_OVERFLOW\]", KvcensusError, "an exact integer result does not fit ({why})."),
    _Rule(r"\[JAVA_GATEWAY_EXITED\]|Could not parse Master URL", UsageError,
          "Spark did not start ({why}); its lines above say why. It needs Java 17 or newer, found by JAVA_HOME or "
          "PATH, and a --master that exists."),
    _Rule(r"stopped SparkContext|SparkContext was shut down|All masters are unresponsive|"
          r"Master removed our application", InputError,
          "Spark has stopped ({why}). No master answers at the address of --master, or it ended the "
          "application, or somebody else did."),
)
_UNKNOWN = "Spark failed ({why}). This is a fault of kvcensus; --verbose shows the whole trace."
_GONE = f"Spark's own process has ended. Most often it had too little memory. {_MEMORY}."

# How Python prints an error of ours: to the end, or to what Python or Spark prints behind it.
_OURS = re.compile(r"^telemetry\.errors\.(\w+): (.*?)(?=\n\n(?:The above exception|During handling)|\n SQLSTATE: |"
                   r"\n\s+at |\s*\Z)", re.DOTALL | re.MULTILINE)
_TASK = re.compile(r"\(TID \d+\) \((?P<host>\S+) executor (?P<executor>\w+)\): (?P<why>.*)")
_LAST_CAUSE = re.compile(r"^Caused by: (.*)$", re.MULTILINE)
_PLACE = re.compile(r'^  File "([^"]*)", line (\d+), in (\S+)$', re.MULTILINE)
_JAVA_NAME = re.compile(r"^(?:[a-z]\w*\.)+(?=[A-Z]\w*)")
_ADVICE = re.compile(r" Use '?`?try_\w+.*| If necessary set .*| SQLSTATE: .*")
_LONGEST = 300


@contextmanager
def spark_errors(doing: str) -> Iterator[None]:
    """Let no error of Spark's out of the block.

    Parameters
    ----------
    doing : str
        What the block does, such as the stage of the progress; messages start with it.

    Raises
    ------
    KvcensusError
        Of the kind that fits: UsageError, InputError, or itself where the fault is ours.
    """
    try:
        yield
    except Exception as error:
        translated = translate(error, doing)
        if translated is None:
            raise
        raise translated from error


def translate(error: BaseException, doing: str) -> KvcensusError | None:
    """The error to raise in place of one of Spark's; None when it is none of Spark's."""
    if _gone(error):
        return InputError(f"{doing}: {_GONE}")
    if not isinstance(error, PySparkException | Py4JError):
        return None
    text = _text(error)
    ours = _OURS.findall(text)
    if ours:
        name, message = ours[-1]
        kind = getattr(telemetry.errors, name, KvcensusError)
        return kind(message) if issubclass(kind, KvcensusError) else KvcensusError(message)
    why = _root(error, text)
    for rule in _RULES:
        found = re.search(rule.pattern, text, re.MULTILINE)
        if found:
            return rule.kind(f"{doing}: {rule.message.format(why=why, **found.groupdict())}")
    return KvcensusError(f"{doing}: {_UNKNOWN.format(why=why)}")


def _gone(error: BaseException) -> bool:
    """Whether py4j found nobody at the other end."""
    return (isinstance(error, ConnectionError | Py4JNetworkError)
            or (isinstance(error, Py4JError) and "does not exist in the JVM" in str(error)))


def _text(error: PySparkException | Py4JError) -> str:
    """Everything that Spark says of an error, in one text."""
    if isinstance(error, Py4JJavaError):
        return _printed(error)
    if not isinstance(error, PySparkException):
        return str(error)
    # The traceback of a Python worker by itself, without what the JVM puts around it, and last: it decides.
    parameters = error.getMessageParameters() or {}
    return "\n".join([str(error), str(getattr(error, "_stackTrace", "")), str(parameters.get("traceback", ""))])


def _printed(error: Py4JJavaError) -> str:
    """Py4J asks the JVM for the Java trace, which may be gone by now."""
    try:
        return str(error)
    except Exception:
        return repr(error.errmsg)


def _root(error: BaseException, text: str) -> str:
    """The innermost cause in one line: of Python with its place, of Java with the host that it happened on."""
    if "Traceback (most recent call last):" in text:
        last = _python_cause(text.rpartition("Traceback (most recent call last):")[2])
        if last:
            return last
    task = _TASK.search(text)
    causes = _LAST_CAUSE.findall(text)
    if isinstance(error, PySparkException):
        why = str(error).strip().partition("\n")[0]
    elif task is not None:
        why = task["why"]
    else:
        why = causes[-1] if causes else _first_java(text)
    line = _ADVICE.sub("", _JAVA_NAME.sub("", why.strip()))
    where = f" on {task['host']}" if task is not None and task["executor"] != "driver" else ""
    return _cut(line).rstrip(". ") + where


def _python_cause(trace: str) -> str:
    """`KeyError: 'k', in read (calls.py, line 18)`, from the text of one traceback."""
    # What a worker said before it could be talked to comes indented, and with more behind it.
    trace = re.split(r"^\s*PYTHONPATH was:$|^ SQLSTATE: ", trace, maxsplit=1, flags=re.MULTILINE)[0]
    trace = textwrap.dedent(trace)
    lines = [line for line in trace.splitlines() if line and not line.startswith(" ")]
    if not lines:
        return ""
    places = _PLACE.findall(trace)
    where = f", in {places[-1][2]} ({places[-1][0].rpartition('/')[2]}, line {places[-1][1]})" if places else ""
    return _cut(lines[0]) + where


def _first_java(text: str) -> str:
    """The first line of a Java exception, behind Py4J's own."""
    _, _, behind = text.partition("\n: ")
    return (behind or text).partition("\n")[0]


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST else line[:_LONGEST] + " ..."
