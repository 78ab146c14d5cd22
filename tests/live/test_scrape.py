"""Prometheus text as numbers."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.live.scrape import parse_metrics, scrape
from telemetry.errors import InputError

TEXT = r'''# HELP vllm:hits_total Cache hits.
# TYPE vllm:hits_total counter
vllm:hits_total{engine="0",model_name="a \"b\" \\ c"} 3.0
vllm:hits_total{engine="1",model_name="x"} 4.5 1700000000000

up 1
odd{le="+Inf",} NaN
big 1.5e+06
'''


def test_totals_and_labels():
    read = parse_metrics(TEXT)
    assert read.total("vllm:hits_total") == 7.5
    assert read.total("vllm:hits_total", engine="1") == 4.5
    assert read.total("vllm:hits_total", engine="2") == 0
    assert read.samples["vllm:hits_total"][0].labels["model_name"] == 'a "b" \\ c'
    assert (read.total("up"), read.total("big")) == (1, 1_500_000)
    assert math.isnan(read.samples["odd"][0].value)
    assert read.samples["odd"][0].labels == {"le": "+Inf"}


def test_a_metric_that_is_not_there_is_not_nought():
    with pytest.raises(InputError, match=r"publishes no metric 'nothing'\. It has 4 others"):
        parse_metrics(TEXT).total("nothing")


@pytest.mark.parametrize("line", ["<html>", 'a{b="c} 1', "a one", 'a{b} 1', "a", "1a 2"])
def test_a_line_that_is_no_sample(line: str):
    with pytest.raises(InputError, match="line 2 of the server's metrics"):
        parse_metrics(f"up 1\n{line}\n")


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")))
def test_any_label_comes_back(value: str):
    written = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    assert parse_metrics(f'a{{b="{written}",c="d"}} 2').samples["a"][0].labels == {"b": value, "c": "d"}


def test_nobody_answers():
    with pytest.raises(InputError, match="/metrics gave no answer"):
        scrape("http://127.0.0.1:9", timeout_s=2)
