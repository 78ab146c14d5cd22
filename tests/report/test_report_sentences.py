"""Sentences follow the numbers: opposite traces, opposite words; each numeral is bound to a key."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
import report_stores as stores

from figures.registry import all_figures
from figures.sentence import Sentence, Value, clause, say
from figures.units import format_value

FIGURES = all_figures()
KNOWING = {"deep": stores.deep(), "shallow": stores.shallow()}

#: What each headline must say of the two traces.
OPPOSITE = {
    "fig03": ("Sessions are deep", "Sessions are shallow"),
    "fig04": ("One class holds most", "Mid, not Spine, holds most"),
    "fig05": ("falls sharply", "rises"),
    "fig06": ("Most context is reused", "Most context is computed anew"),
    "fig07": ("A tail of sessions outgrows", "Every session fits"),
    "fig07b": ("The load is peaky", "The load is steady"),
    "fig08": ("are heavy-tailed", "are not heavy-tailed"),
    "fig09": ("Reuse stays behind", "Reuse does not depend"),
    "fig10": ("saves much", "saves little here"),
    "fig11": ("Policy decides", "A better policy helps little here"),
    "fig11b": ("Much may be left to gain", "Little is left to gain"),
    "fig11c": ("Sticky routing pays", "Sticky routing gains little"),
    "fig11d": ("A better policy saves memory", "Memory cannot keep misses low here"),
    "fig11e": ("The choice of the hour matters much", "The choice of the hour hardly matters"),
    "fig11f": ("Much moves", "Little moves"),
    "fig12": ("gives back more than it takes only if it is told what to refuse", "Policies hardly differ"),
    "fig12b": ("Storing pays", "More is stored than comes back"),
    "fig12c": ("The simulator is right", "The simulator is off"),
}


@pytest.mark.parametrize("spec", FIGURES, ids=lambda s: s.name)
def test_opposite_traces_get_opposite_sentences(spec):
    deep, shallow = OPPOSITE[spec.name]
    found = {kind: spec.finding(store).plain() for kind, store in KNOWING.items()}
    assert deep in found["deep"]
    assert deep not in found["shallow"]
    assert shallow in found["shallow"]
    assert shallow not in found["deep"]


class _Numerals(HTMLParser):
    """Collects digits outside of spans that name a key, and the text of each `n` span."""

    def __init__(self):
        super().__init__()
        self.stack, self.loose, self.bound = [], [], []

    def handle_starttag(self, tag, attrs):
        self.stack.append(dict(attrs))
        if dict(attrs).get("class") == "n":
            self.bound.append([dict(attrs)["data-key"], ""])

    def handle_endtag(self, tag):
        self.stack.pop()

    def handle_data(self, data):
        if not any("data-key" in attrs for attrs in self.stack) and re.search(r"\d", data):
            self.loose.append(data)
        if self.stack and self.stack[-1].get("class") == "n":
            self.bound[-1][1] += data


@pytest.mark.parametrize("spec", FIGURES, ids=lambda s: s.name)
@pytest.mark.parametrize("kind", ["deep", "shallow", "unknown"])
def test_every_numeral_is_bound_to_a_key(spec, kind):
    store = getattr(stores, kind)()
    parser = _Numerals()
    parser.feed(spec.finding(store).__html__())
    assert parser.loose == []
    for key, text in parser.bound:
        number = store.numbers[key]
        assert text == format_value(number.value, number.unit)
    assert kind == "unknown" or parser.bound


@pytest.mark.parametrize("spec", FIGURES, ids=lambda s: s.name)
def test_a_missing_number_is_said_with_its_reason(spec):
    sentence = spec.lead(stores.unknown())
    assert sentence.missing
    assert "no row has a session id (0 of 250 rows)" in sentence.plain()


@pytest.mark.parametrize("spec", FIGURES, ids=lambda s: s.name)
def test_no_single_missing_key_breaks_a_sentence(spec):
    for key in sorted(KNOWING["deep"].numbers.keys() & set(spec.keys)):
        store = stores.Store(
            dict(KNOWING["deep"].numbers), KNOWING["deep"].tables, manifest=KNOWING["deep"].manifest
        )
        store.numbers[key] = replace(
            store.numbers[key], value=None, lo=None, hi=None, why="left out here"
        )
        spec.finding(store)
        del store.numbers[key]
        spec.finding(store)


def test_a_literal_digit_in_the_text_raises():
    with pytest.raises(ValueError, match="literal digit"):
        Sentence(("The 99th percentile is high.",))
    with pytest.raises(ValueError, match="literal digit"):
        say(stores.deep(), "The P50 is {depth.p50}.")


def test_an_interval_is_shown_and_a_null_clause_is_left_out():
    store = stores.deep()
    assert say(store, "{replay.busiest-hour.session.lru.b10}").plain() == "62.9% (62.5% to 63.3%)"
    assert not clause(store, "The median is {gap.idle_p50_s}.")
    assert say(store, "{trace.models|model}").plain() == "9 models"
    assert say(stores.shallow(), "{depth.p50|call}").plain() == "1 call"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (17_008_715, "calls", "17.0 M"),
        (176_007, "calls", "176,007"),
        (0.8034, "share", "80.3%"),
        (0.0453, "share", "4.53%"),
        (0.0, "share", "0%"),
        (0.00004, "share", "<0.01%"),
        (0.9999, "share", ">99.9%"),
        (1.0, "share", "100%"),
        (501.8e12, "bytes", "501.8 TB"),
        (9_749e12, "bytes", "9,749.0 TB"),
        (940e9, "bytes", "940.0 GB"),
        (0, "bytes", "0 B"),
        (25.7, "GiB", "25.7 GiB"),
        (8.38, "s", "8.38 s"),
        (1203.0, "s", "20.1 min"),
        (682_560.0, "s", "7.90 d"),
        (0.0125, "s", "12.5 ms"),
        (0, "s", "0 s"),
        (5.08, "ratio", "5.08×"),
        (None, "share", "not known"),
        (float("nan"), "share", "not known"),
        ("llama-2-70b", "", "llama-2-70b"),
    ],
)
def test_values_are_written_by_unit(value, unit, text):
    assert format_value(value, unit) == text


def test_a_value_keeps_its_population_and_n_within_reach():
    (value,) = [p for p in say(stores.deep(), "{depth.p50}").parts if isinstance(p, Value)]
    assert value.title == "depth.p50 = 13 calls; calls with a session id; n = 176,007"


@pytest.mark.parametrize(
    ("pattern", "replacement", "says"),
    [
        (r"\.b(1|2|5|10)$", None, "with 20% of the 47.0 TB that would hold everything, LRU rebuilds 42.0%"),
        (r"\.b[\d.]+$", ".b4.7TB", "with 4.7TB of memory, LRU rebuilds"),
        (
            r"\.(floor|lru\.)",
            r".never.\1",
            "Memory is short: with a tenth of the memory that would hold everything, LRU rebuilds 62.9%",
        ),
        (r"\.lru\.", None, "No policy can avoid that 5.39% of the calls"),
        (r"busiest-hour", "window", "of the calls over the whole window, FNU, which knows the future,"),
        (r"\.session\.", None, "in the busiest hour (objects by session and model), FNU, which knows the future,"),
    ],
)
def test_the_replay_sentence_follows_what_was_replayed(pattern, replacement, says):
    """`replacement`: what the matching part of a replay's key becomes; None = that key was not replayed."""
    store, numbers = stores.deep(), {}
    for key, number in store.numbers.items():
        if not key.startswith("replay.") or not re.search(pattern, key):
            numbers[key] = number
        elif replacement is not None:
            numbers.setdefault(re.sub(pattern, replacement, key), number)
    store.numbers = numbers
    (spec,) = [spec for spec in FIGURES if spec.name == "fig11"]
    assert says in spec.finding(store).plain()
