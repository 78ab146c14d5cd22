"""Which number a sentence speaks of, the word it gives, and when it says nothing."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import report_stores as stores

from figures.registry import all_figures
from figures.sentence import say
from figures.units import format_value


def _spec(name):
    (spec,) = [spec for spec in all_figures() if spec.name == name]
    return spec


def _changed(store, **values):
    """The store with other values; `__` stands for a dot."""
    for key, value in values.items():
        store.numbers[key.replace("__", ".")] = replace(store.numbers[key.replace("__", ".")], value=value)
    return store


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        (("1GB",), "with 1GB of memory, LRU"),
        (("10%", "1GB"), "with 1GB of memory, LRU"),
        (("80GB", "10%", "1GB"), "with 80GB of memory, LRU"),
        (("1GB", "80GB"), "with 1GB of memory, LRU"),
        (("50%", "20%"), "with 20% of the 47.0 TB"),
        (("1%", "10%", "100%"), "with a tenth of the 47.0 TB"),
    ],
)
def test_the_replay_sentence_speaks_of_the_budget_that_the_user_has_in_mind(labels, says):
    """The first amount, in the user's order; else the share nearest to a tenth."""
    store = stores.deep()
    rates = {}
    for base in ("replay.busiest-hour.session.lru", "replay.busiest-hour.session.fnu"):
        number = store.numbers[f"{base}.b5"]
        rates |= {f"{base}.b{label.removesuffix('%')}": number for label in labels}
    kept = {key: n for key, n in store.numbers.items() if not re.search(r"\.b[\d.]+$", key)}
    store.numbers = dict(sorted((kept | rates).items()))
    configuration = {**store.manifest["configuration"], "replay": {"budgets": list(labels)}}
    store.manifest = {**store.manifest, "configuration": configuration}
    assert says in _spec("fig11").lead(store).plain()


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.0, "No session shrinks"),
        (0.0556, "Few sessions shrink"),
        (0.3, "Some sessions shrink"),
        (0.57, "Most sessions shrink"),
        (0.909, "Nearly all sessions shrink"),
    ],
)
def test_the_word_for_how_many_sessions_shrink_follows_the_number(share, words):
    store = _changed(stores.deep(), context__reduction_session_share=share)
    found = _spec("fig03").finding(store).plain()
    assert re.search(rf"{words} on \w+ way: {format_value(share, 'share')} of those with several calls", found)


def test_a_second_number_that_reads_the_same_is_not_said():
    store = _changed(stores.deep(), class_share__broad__spine=0.67104)
    assert "broad" not in _spec("fig04").lead(store).plain()
    assert "(90.0% under the broad mapping)" in _spec("fig04").lead(stores.deep()).plain()

    assert "the peak stays at 310.0 GB, and 62.1% of the calls" in _spec("fig10").lead(stores.shallow()).plain()
    assert "rebuild their context, as many as without a cap." in _spec("fig10").lead(stores.shallow()).plain()

    base = "replay.busiest-hour.session"
    store = _changed(stores.shallow(), **{f"{base}+deployment.floor": 0.64})
    assert "Routing does not raise the floor: 64.0% of the calls" in _spec("fig11").finding(store).plain()
    store.numbers["replay.busiest-hour.unknown_deployment_share"] = stores.Number(1.0, "share")
    assert "Routing" not in _spec("fig11").finding(store).plain()

    store = _changed(stores.shallow(), **{f"{base}.lru.b10": 0.64})
    assert "Memory suffices: with a tenth of the 210.0 GB" in _spec("fig11").lead(store).plain()
    assert _spec("fig11").lead(store).plain().count("64.0%") == 1


def test_an_interval_that_reads_as_its_value_is_not_shown():
    store = stores.deep()
    store.numbers["depth.p50"] = replace(store.numbers["depth.p50"], lo=13, hi=13)
    assert say(store, "{depth.p50}").plain() == "13"


@pytest.mark.parametrize(
    ("geometry", "words", "assumed"),
    [
        (
            {"name": "llama-2-70b", "bytes_per_token": 327_680},
            " with the KV of llama-2-70b",
            "Bytes assume 327,680 KV bytes a token, those of llama-2-70b.",
        ),
        (
            {"name": "1000", "bytes_per_token": 1000},
            " with 1,000 KV bytes a token",
            "Bytes assume 1,000 KV bytes a token.",
        ),
        (None, "", ""),
    ],
)
def test_bytes_name_the_geometry_that_they_assume(geometry, words, assumed):
    store = stores.shallow()
    store.manifest = {**store.manifest, "configuration": {"geometry": geometry}}
    assert f"one eighty-gigabyte GPU{words}: half" in _spec("fig07").lead(store).plain()
    assert f"at the peak{words}; at most" in _spec("fig07b").lead(store).plain()
    for name in ("fig07", "fig07b", "fig10", "fig11"):
        assert _spec(name).certainty(store).endswith(assumed or ".")
        assert ("assume" in _spec(name).certainty(store)) == bool(assumed)
    assert "assume" not in _spec("fig03").certainty(store)


def test_each_n_says_what_it_counts():
    store = stores.deep()
    store.numbers["context.index_30_p50"] = replace(store.numbers["context.index_30_p50"], n=50)
    sizes = _spec("fig03").sizes(store)
    assert ("sessions", 176_007) in sizes
    assert ("sessions that reach the thirtieth call", 50) in sizes
    assert _spec("fig11").sizes(store) == [("calls in the busiest hour", 176_007)]


@pytest.mark.parametrize(
    ("name", "key", "says"),
    [
        ("fig05", "excursion.reuse_1", "Too few calls tell what an excursion does: reuse is 92.5% between"),
        ("fig09", "transition.cross_deployment.reuse", "Too few calls tell what a move does: 88.9% on the same"),
    ],
)
def test_no_verdict_follows_from_a_mean_of_few(name, key, says):
    store = stores.deep()
    store.numbers[key] = replace(store.numbers[key], n=9)
    assert says in _spec(name).lead(store).plain()
    store.numbers[key] = replace(store.numbers[key], n=10)
    assert "Too few" not in _spec(name).lead(store).plain()
