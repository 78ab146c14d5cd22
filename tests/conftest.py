"""Which tests are slow, and which share a worker: told by what a test asks for, so that no list has to be kept.

`slow` is what `make test-quick` leaves out: Spark, a browser, random input, and every run of the command but that of
the sample, which many tests share. A test that is slow for another reason is marked by hand.

`make test` has two workers. All of Spark goes to one, as its sessions share one JVM, and goes first, as it takes
longest. The tests of a file stay together, as they share fixtures.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import is_hypothesis_test

#: Fixtures that start processes, or with which a test makes runs of its own.
_SLOW = {"spark_here", "browser", "cli", "live_interpreter"}
#: The folder of Spark's tests, or the engine of a test in tests/metrics.
_SPARK = re.compile(r"^tests/spark/|[\[-]spark[\]-]")


@pytest.hookimpl(tryfirst=True)  # before `-m` looks at the marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        asked = _SLOW.intersection(getattr(item, "fixturenames", ()))
        if asked or _SPARK.search(item.nodeid) or is_hypothesis_test(getattr(item, "obj", None)):
            item.add_marker(pytest.mark.slow)
    if hasattr(config, "workerinput"):  # a worker of pytest-xdist
        items.sort(key=lambda item: not _SPARK.search(item.nodeid))


# The groups of `--dist loadgroup` are lost with pytest 9.2: pytest-xdist 3.8 writes them to a name it no longer reads.
@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadScopeScheduling

    class OneJvm(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return "spark" if _SPARK.search(nodeid) else nodeid.partition("::")[0]

    return OneJvm(config, log)
