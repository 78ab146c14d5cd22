"""Which tests are slow, and which share a worker: told by what a test asks for, so that no list has to be kept.

`slow` is what `make test-quick` leaves out: Spark, a browser, random input, and every run of the command but that of
the sample, which many tests share. A test that is slow for another reason is marked by hand.

`make test` has two workers. All of Spark goes to one, as its sessions share one JVM, and goes first, as it takes
longest. The tests of a file, and those that look at the sample's report, stay together, as they share what they look at.
"""

from __future__ import annotations

import pytest
from hypothesis import is_hypothesis_test

#: Fixtures that start processes, or with which a test makes runs of its own.
_SLOW = {"spark_here", "browser", "cli"}


@pytest.hookimpl(tryfirst=True)  # before `-m` and pytest-xdist look at the marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if _on_spark(item) or _SLOW & _fixtures(item) or is_hypothesis_test(getattr(item, "obj", None)):
            item.add_marker(pytest.mark.slow)
    if hasattr(config, "workerinput"):  # a worker of pytest-xdist
        for item in items:
            item.add_marker(pytest.mark.xdist_group(_group(item)))
        items.sort(key=lambda item: not _on_spark(item))


def _group(item: pytest.Item) -> str:
    """The name of those that run in the same worker, one after the other."""
    if _on_spark(item):
        return "spark"
    return "sample" if "sample" in _fixtures(item) else item.path.name


def _on_spark(item: pytest.Item) -> bool:
    """Whether Spark's fixtures are asked for, or tests/metrics/conftest.py runs it on Spark."""
    call = getattr(item, "callspec", None)
    return "spark_here" in _fixtures(item) or (call is not None and call.params.get("engine") == "spark")


def _fixtures(item: pytest.Item) -> set[str]:
    return {*getattr(item, "fixturenames", ())}
