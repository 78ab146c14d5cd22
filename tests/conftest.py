"""Which tests are slow, and which share a worker: told by what a test asks for, so that no list has to be kept.

`slow` is what `make test-quick` leaves out: Spark, a browser, random input, and every run of the command but that of
the sample, which many tests share. A test that is slow for another reason is marked by hand.

`make test` has two workers. All of Spark goes to one, as its sessions share one JVM; the tests of a file, and those
that look at the sample's report, stay together, as they share what they look at.
"""

from __future__ import annotations

import pytest
from hypothesis import is_hypothesis_test

#: Fixtures that start processes, or with which a test makes runs of its own.
_SLOW = {"spark_here", "browser", "cli"}


@pytest.hookimpl(tryfirst=True)  # before `-m` and pytest-xdist look at the marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        fixtures = {*getattr(item, "fixturenames", ())}
        spark = "spark_here" in fixtures or _engine(item) == "spark"
        if spark or fixtures & _SLOW or is_hypothesis_test(getattr(item, "obj", None)):
            item.add_marker(pytest.mark.slow)
        if config.pluginmanager.hasplugin("xdist"):
            together = "spark" if spark else "sample" if "sample" in fixtures else item.path.name
            item.add_marker(pytest.mark.xdist_group(together))


def _engine(item: pytest.Item) -> object:
    """The engine that tests/metrics/conftest.py runs a test on."""
    call = getattr(item, "callspec", None)
    return call.params.get("engine") if call else None
