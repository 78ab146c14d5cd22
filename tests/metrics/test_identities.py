"""Identities between the paper's own numbers that our definitions must reproduce."""

from __future__ import annotations

import pytest
from metrics_rows import Census, call

from metrics import depth, placement, reuse, working_set
from metrics.core.metric import ratio


@pytest.mark.parametrize(("numerator", "denominator", "printed", "digits"), [
    (9_486, 176_007, 5.39, 2), (35_588, 176_007, 20.22, 2),
])
def test_shares(numerator: int, denominator: int, printed: float, digits: int) -> None:
    share = ratio(numerator, denominator)
    assert share is not None
    assert round(100 * share, digits) == printed


def test_carry_tax_of_the_papers_reuse(census: Census) -> None:
    # R = 0.803: 1 / (1 - R) = 5.08.
    found = census(reuse.METRIC, [call("a", 0, 1000, cached=803)])
    assert found["reuse.aggregate"] == 0.803
    assert round(found["reuse.carry_tax"], 2) == 5.08


def test_reuse_of_the_papers_thrash_tax(census: Census) -> None:
    # A tax of 9.38 is a reuse of 1 - 1 / 9.38 = 89.3 %.
    found = census(reuse.METRIC, [call("a", 0, 938, cached=838)])
    assert found["reuse.carry_tax"] == 9.38
    assert round(100 * found["reuse.aggregate"], 1) == 89.3


def test_an_h100_in_gib(census: Census) -> None:
    # 80 * 10^9 bytes are 74.5 GiB: the largest working set that is not above them.
    found = census(working_set.METRIC, [call("a", 0, 244_140)])
    assert found["working_set.over_80gb_share"] == 0
    assert round(found["working_set.p50_gib"], 1) == 74.5


def test_a_single_deployment_implies_a_single_region(census: Census) -> None:
    rows = [call(f"s{n}", at, region="rs"[at * n % 2], deployment="de"[at * n // 2 % 2])
            for n in range(6) for at in range(3)]
    found = census(placement.METRIC, rows)
    assert found["placement.sd_share"] <= found["placement.sr_share"]


def test_mean_depth_is_calls_over_sessions(census: Census) -> None:
    assert round(census(depth.METRIC, [call("a", at) for at in range(7)] + [call("b", 0), call("c", 0)])["depth.mean"],
                 6) == 3.0
