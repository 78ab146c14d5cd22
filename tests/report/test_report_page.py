"""The page: self-contained, inert to hostile labels, complete, and the same bytes each time."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from urllib.parse import unquote

import pyarrow as pa
import pytest
import report_stores as stores

from figures.names import COLUMNS
from figures.sentence import anchor
from figures.units import clean
from report_templates.context import glance, warnings
from report_templates.render import render_index, render_report
from report_templates.tables import view
from telemetry.registry import adapters

pytestmark = pytest.mark.slow  # each draws every figure

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7*7 }}{% raw %}",
    "$x^2$ \\frac{1}{2}",
    "\x00\x07\x1b[31mred\u202egnp.exe\ud800",
    "'); drop table calls;--",
    "a" * 10_000,
)


class _Page(HTMLParser):
    """Tags, attributes, ids, headings and links of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.links, self.headings, self.sources = Counter(), [], [], [], []
        self.handlers, self.keys, self.text = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags[tag] += 1
        if "id" in found:
            self.ids.append(found["id"])
        if tag == "a":
            self.links.append(found["href"])
        if re.fullmatch(r"h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if found.get("class") == "n":
            self.keys.append(found["data-key"])
        self.sources += [found[name] for name in ("src", "href") if name in found and tag not in ("a", "use")]
        self.handlers += [name for name in found if name.startswith("on")]

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def pages():
    return {kind: render_report(getattr(stores, kind)()) for kind in ("deep", "shallow", "unknown")}


def test_a_second_render_gives_the_same_bytes(pages):
    assert render_report(stores.deep()) == pages["deep"]


@pytest.mark.parametrize("kind", ["deep", "shallow", "unknown"])
def test_the_page_is_one_file_without_script(pages, kind):
    page = _Page(pages[kind])
    assert len(pages[kind].encode()) < 5_000_000
    assert page.tags["script"] == page.tags["iframe"] == page.tags["img"] == 0
    assert page.handlers == []
    assert all(source.startswith("data:") for source in page.sources)
    assert not re.search(r"@import|url\((?!#)", pages[kind])
    assert "default-src 'none'" in pages[kind]


@pytest.mark.parametrize("kind", ["deep", "shallow", "unknown"])
def test_headings_ids_and_links(pages, kind):
    page = _Page(pages[kind])
    assert page.headings.count(1) == 1
    assert page.headings[0] == 1
    assert all(after - before <= 1 for before, after in zip(page.headings, page.headings[1:], strict=False))
    assert [name for name, count in Counter(page.ids).items() if count > 1] == []
    assert all(unquote(link[1:]) in page.ids for link in page.links if link.startswith("#"))
    assert all(anchor(key) in page.ids for key in page.keys)
    assert page.tags["main"] == 1
    assert page.tags["caption"] == page.tags["table"]


def test_rows_are_accounted_for(pages):
    assert "17,010,000 rows read = 17,008,715 used + 1,285 set aside" in pages["deep"]
    assert "adds up" in pages["deep"]
    store = stores.deep()
    store.audit = {**store.audit, "rows_used": 17}
    assert "does not add up" in render_report(store)


@pytest.mark.parametrize(
    ("left", "right", "says"),
    [
        ((0, 9), (0, 9), ["begins and ends with the window"]),
        ((0, 9), (3, 3), ["begins with the window", "The end cuts 3 sessions."]),
        ((1, 1), (0, 9), ["The start cuts 1 session.", "ends with the window"]),
        ((0, 0), (3, 3), ["Its edges cut 0 sessions at the start and 3 at the end."]),
    ],
)
def test_the_edges_that_the_log_cannot_see_beyond_are_said(left, right, says):
    store = stores.deep()
    for side, (lo, hi) in (("left", left), ("right", right)):
        key = f"trace.sessions_cut_{side}"
        store.numbers[key] = replace(store.numbers[key], value=hi, lo=lo, hi=hi)
    found = glance(store).plain()
    assert all(part in found for part in says)
    assert ("cannot tell" in found) == ("with the window" in says[0] + says[-1])


def test_warnings_stand_before_the_findings(pages):
    page = pages["shallow"]
    at = page.index("Before you use these numbers")
    assert at < page.index("What we found</h2>")
    for text in ("Arrivals are synthetic", "schema only, not verified on the data", "from the position of"):
        assert at < page.index(text) < page.index("What we found</h2>")
    assert "Before you use these numbers" not in pages["deep"]


def test_derived_columns_are_named_in_words():
    store = stores.shallow()
    store.manifest = {**store.manifest, "derived": {"t_us": "earliest logged line of the message", "odd": "somehow"}}
    assert [text for kind, text in warnings(store.manifest) if kind == "Derived"] == [
        "odd: somehow",
        "time of the call: earliest logged line of the message",
    ]
    assert "t_us" not in render_report(store)
    assert {column for adapter in adapters().values() for column in adapter.derived} <= set(COLUMNS)


def test_a_figure_that_cannot_be_drawn_leaves_its_question_and_the_reason(pages):
    page = pages["unknown"]
    assert "<svg" not in page
    assert "How deep are sessions, and does context grow along them?" in page
    assert page.count("Not drawn:") == 18
    assert "no row has a session id (0 of 250 rows)" in page
    assert "This trace cannot say:" in page


def test_a_table_without_rows_is_shown():
    store = stores.deep()
    store.tables["gap_cdf"] = store.tables["gap_cdf"].slice(0, 0)
    shown = view(store, "gap_cdf")
    assert (shown.rows, shown.total, shown.cut) == ((), 0, False)


def test_long_tables_are_cut_evenly_and_say_so(pages):
    assert "showing 60 of" in pages["deep"]
    store = stores.deep()
    store.tables["gap_cdf"] = pa.table({"seconds": list(range(1000)), "cdf": [0.5] * 1000})
    shown = view(store, "gap_cdf")
    assert (len(shown.rows), shown.total, shown.cut) == (60, 1000, True)
    assert (shown.rows[0][0], shown.rows[-1][0]) == ("0 s", "16.6 min")


@pytest.mark.parametrize(
    "text", HOSTILE, ids=["script", "attribute", "template", "math", "control", "sql", "long"]
)
def test_hostile_text_is_inert_wherever_it_stands(pages, text):
    store = stores.deep()
    plain = text.encode("utf-8", "replace").decode()  # Arrow holds UTF-8; JSON may hold lone surrogates
    for table, column in (
        ("class_share", "class"),
        ("class_share", "mapping"),
        ("class_transition", "to_class"),
        ("excursion_reuse", "band"),
        ("gap_cdf", "kind"),
        ("transition_reuse", "transition"),
        ("idle_cap", "theta"),
        ("residency_replay", "policy"),
        ("residency_replay", "stream"),
        ("residency_replay", "object_key"),
        ("replay_distance", "policy"),
        ("replay_distance", "stream"),
        ("replay_bound", "bound"),
    ):
        found = store.tables[table]
        at = found.column_names.index(column)
        store.tables[table] = found.set_column(at, column, pa.array([plain] * found.num_rows))
    store.manifest = {
        **store.manifest,
        "name": text,
        "window": {"name": text, "start": text, "tz": text},
        "notes": [text],
        "derived": {text: text},
        "labels": {text: text},
        "configuration": {text: text},
        "versions": {text: text},
    }
    store.audit = {
        **store.audit,
        "rows_excluded": {"duplicate": 1_285},
        "examples": {"duplicate": [text]},
        "reasons": {"duplicate": text},
        "flags": {text: 1},
        "flag_meanings": {text: text},
    }
    store.numbers["gap.idle_p50_s"] = replace(store.numbers["gap.idle_p50_s"], why=text)
    store.numbers["depth.p50"] = replace(
        store.numbers["depth.p50"], population=text, method=text, command=text
    )
    html = render_report(store)
    page, known = _Page(html), _Page(pages["deep"])
    assert page.handlers == []
    assert page.tags["script"] == page.tags["img"] == 0
    assert set(page.tags) <= set(known.tags) | {"aside", "b"}  # of the warnings
    assert [name for name, count in Counter(page.ids).items() if count > 1] == []
    assert len(html.encode()) < 1_000_000
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e\ud800-\udfff]", html)
    assert "a" * 401 not in html
    assert clean(text) in "".join(page.text)  # shown, as what it is


def test_the_index_has_a_line_a_window():
    windows = [("day 1", "day-1/report.html", stores.deep()), ("<b>", "b/report.html", stores.unknown())]
    html = render_index("Two <days>", windows)
    assert html == render_index("Two <days>", windows)
    page = _Page(html)
    assert page.tags["b"] == 0
    assert page.headings == [1, 2]
    assert {"day-1/report.html", "b/report.html"} <= set(page.links)
    assert "17.0 M" in html
    assert "not known" in html


def _day(store, day, first, last):
    """The store as the window of a day with calls between two times."""
    start, end = (f"2026-07-0{d}T00:00:00+00:00" for d in (day, day + 1))
    calls = {"first_call": f"2026-07-0{day}T{first}Z", "last_call": f"2026-07-0{day}T{last}Z"}
    store.manifest = {
        **store.manifest,
        "window": {"name": f"2026-07-0{day}", "tz": "UTC", "start": start, "end": end, **calls},
    }
    return f"2026-07-0{day}", f"{day}/report.html", store


def test_the_index_shows_ranges_and_where_the_calls_begin_and_end():
    calls = ((1, "09:30:00", "23:59:58"), (2, "00:00:07", "23:59:59"), (3, "00:00:02", "11:00:30.5"))
    days = [_day(stores.deep(), day, first, last) for day, first, last in calls]
    html = render_index("days", days)
    assert "2026-07-01 00:00 to 2026-07-02 00:00 (UTC)" in html
    assert re.findall(r">((?:first|last) call at [^<]*)<", html) == [
        "first call at 2026-07-01 09:30",
        "last call at 2026-07-03 11:00:30",
    ]
    whole = render_index("day", [_day(stores.deep(), 1, "00:00:00", "11:00:00")])
    assert "first call" not in whole
    assert "last call at 2026-07-01 11:00" in whole


def test_the_last_column_of_the_index_is_the_budget_of_the_sentence():
    store = stores.deep()
    assert ">LRU rebuilds with 10% of K*</th>" in render_index("x", [("day", "day.html", store)])
    store.numbers["replay.busiest-hour.session.lru.b4.7TB"] = stores.Number(0.625, "share")
    html = render_index("x", [("none", "none.html", stores.unknown()), ("day", "day.html", store)])
    assert ">LRU rebuilds with 4.7TB</th>" in html
    assert "62.5%" in html


@pytest.mark.parametrize(("name", "shown"), [("all", False), ("window", False), ("2026-07-01", True)])
def test_the_title_names_a_window_of_several_only(name, shown):
    store = stores.deep()
    store.manifest = {**store.manifest, "window": {**store.window, "name": name}}
    assert ('<span class="window">' in render_report(store)) == shown


@pytest.mark.parametrize(
    "href", ["javascript:alert(1)", "https://example.com", "//example.com", "/etc/passwd"]
)
def test_the_index_links_only_beside_itself(href):
    with pytest.raises(ValueError, match="relative address"):
        render_index("x", [("day", href, stores.unknown())])


def test_an_index_without_windows_says_so():
    assert "There is no window" in render_index("x", [])


def test_bytes_under_other_geometries_have_a_place(pages):
    page = pages["deep"]
    at = page.index("Bytes under other geometries</h2>")
    assert at < page.index("1.00 TB", at) < page.index("400.0 GB", at)
    assert "Bytes under other geometries" not in pages["unknown"]
    assert "25.0 GB/s" in page  # of the table of fetches, whose column is one of bytes a second
