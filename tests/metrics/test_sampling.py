"""The sample of the sessions: the ids decide, by md5, on both engines alike."""

from __future__ import annotations

import hashlib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from metrics_rows import HOUR, Census, call

from metrics.core.engine import SpreadingEngine
from metrics.core.ingest import Ingested
from replay.residency.budgets import parse_budgets
from replay.residency.cells import Plan, cells_here, cells_spread
from replay.residency.sampling import SAMPLED, EmptySampleError, Sample, draw_sample
from replay.residency.stream_file import extract_stream

HOSTILE = ["", " ", "'", "''; drop table raw; --", '"', "\\", "%", "a:b", "0:a", "é", "e\u0301", "\u202e", "\U0001f9ff",
           "a\tb\nc", "NULL", "x" * 10_000]
IDS = [*HOSTILE, *(f"s{n}" for n in range(120))]


def digest(session: str, seed: int = 0) -> str:
    return hashlib.md5(f"{seed}:{session}".encode()).hexdigest()


def chosen(seed: int, thousandths: int, ids: list[str] = IDS) -> dict[str, int]:
    """Id -> group, by whole numbers: no text is compared here."""
    return {one: int(digest(one, seed)[15], 16) // 2 for one in ids
            if int(digest(one, seed)[:15], 16) < (thousandths << 60) // 1000}


def drawn(census: Census, ingested: Ingested, sample: Sample) -> dict[str, int]:
    draw_sample(census.engine, ingested.identity, sample)
    rows = census.engine.rows(f"select session_id, sample_group from {SAMPLED} join {ingested.identity.ids} as ids "
                              f"on ids.session = {SAMPLED}.session")
    assert len(rows) == len({row["session_id"] for row in rows})
    return {row["session_id"]: row["sample_group"] for row in rows}


def test_the_reference_itself() -> None:
    assert digest("a") == "02766c67dacc416c363571bcd463c731"  # printf '0:a' | md5sum
    assert Sample("0.05").bound == "0cccccccccccccc"
    assert Sample("0.5").bound == "800000000000000"
    assert Sample("0.000000000000001").bound == "000000000000480"


@pytest.mark.both_engines
def test_the_ids_decide(census: Census, tmp_path: Path) -> None:
    ingested = census.ingest([*(call(one, place, 100 + place) for place, one in enumerate(IDS + IDS)), call(None, 1)])
    for label, seed in (("0.5", 0), ("0.125", 0), ("0.3", 123456789012345678)):
        assert drawn(census, ingested, Sample(label, seed)) == chosen(seed, round(float(label) * 1000))
    # The last one drawn is what the stream is made of: whole sessions, in order.
    trace = census.derived(ingested)
    stream = extract_stream(trace, "window", tmp_path / "s.arrow", Sample("0.3", 123456789012345678))
    inside = chosen(123456789012345678, 300)
    assert stream.table["tokens"].to_pylist() == [100 + place for place, one in enumerate(IDS + IDS) if one in inside]
    assert stream.table["sample_group"].to_pylist() == [inside[one] for one in IDS if one in inside] * 2
    assert (stream.sessions, stream.calls) == (len(inside), 2 * len(inside))
    assert stream.drawn is not None
    assert (stream.drawn.sessions, stream.drawn.calls) == (len(IDS), 2 * len(IDS))
    assert stream.drawn.sample == Sample("0.3", 123456789012345678)


def test_a_larger_fraction_holds_the_smaller(census: Census) -> None:
    ingested = census.ingest(call(one, 0) for one in IDS)
    samples = [drawn(census, ingested, Sample(label, 7)) for label in ("0.1", "0.2", "0.6", "0.999999999999999")]
    for smaller, larger in pairwise(samples):
        assert smaller.items() < larger.items()
    assert samples[-1].keys() == set(IDS)
    assert drawn(census, ingested, Sample("0.1", 8)) != samples[0]


def test_groups_are_the_stream_parted(census: Census, tmp_path: Path) -> None:
    ingested = census.ingest(call(one, place * 97 % 1009, place) for place, one in enumerate(IDS * 3))
    draw_sample(census.engine, ingested.identity, Sample("0.5"))
    stream = extract_stream(census.derived(ingested), "window", tmp_path / "s.arrow", Sample("0.5"))
    groups = [stream.group("session", number) for number in range(8)]
    assert sum(group.calls for group in groups) == stream.calls
    assert sum(group.object_count for group in groups) == stream.sessions
    for number, group in enumerate(groups):
        tokens = [size for size, one in zip(stream.table["tokens"].to_pylist(),
                                            stream.table["sample_group"].to_pylist(), strict=True) if one == number]
        assert group.tokens.tolist() == tokens


def test_the_hour_is_the_busiest_of_all_sessions(census: Census, tmp_path: Path) -> None:
    inside = chosen(0, 500, [f"s{n}" for n in range(40)])
    outside = [f"s{n}" for n in range(40) if f"s{n}" not in inside]
    # Hour 0: every session that is left out, and one that is not. Hour 1: half of the sample.
    rows = [call(one, place) for place, one in enumerate([*outside, min(inside)])]
    rows += [call(one, HOUR + place) for place, one in enumerate(sorted(inside)[:len(outside) - 1])]
    ingested = census.ingest(rows)
    draw_sample(census.engine, ingested.identity, Sample("0.5"))
    stream = extract_stream(census.derived(ingested), "busiest-hour", tmp_path / "s.arrow", Sample("0.5"))
    assert stream.hour == "2026-01-01T00:00:00Z"
    assert (stream.calls, stream.drawn) != (0, None)
    assert stream.drawn is not None
    assert (stream.calls, stream.drawn.calls, stream.drawn.sessions) == (1, len(outside) + 1, len(outside) + 1)


def test_an_empty_sample_says_what_to_do(census: Census, tmp_path: Path) -> None:
    ingested = census.ingest([call(one, place) for place, one in enumerate(IDS)])
    with pytest.raises(EmptySampleError) as raised:
        draw_sample(census.engine, ingested.identity, Sample("0.000001", 5))
    for part in ("fraction 0.000001, seed 5", f"none of the {len(IDS)} sessions of the input", "--sample-sessions",
                 "--sample-seed"):
        assert part in str(raised.value)
    only = census.ingest([call(one, 0) for one in IDS if one not in chosen(0, 500)] + [call(min(chosen(0, 500)), HOUR)])
    draw_sample(census.engine, only.identity, Sample("0.5"))
    with pytest.raises(EmptySampleError, match="sessions of the stream busiest-hour"):
        extract_stream(census.derived(only), "busiest-hour", tmp_path / "s.arrow", Sample("0.5"))
    assert not list(tmp_path.iterdir())


def test_without_sessions_there_is_nothing_to_draw_and_nothing_wrong(census: Census) -> None:
    ingested: Any = census.ingest([call(None, 0)])
    assert drawn(census, ingested, Sample("0.5")) == {}


@pytest.mark.both_engines(duckdb=False)
def test_workers_replay_what_this_process_does(census: Census, tmp_path: Path) -> None:
    ingested = census.ingest(call(one, place * 97 % 1009, place, model="ab"[place % 2])
                             for place, one in enumerate(IDS * 3))
    plan = Plan("window", ("session", "session+model"), ("lru", "mrr"), parse_budgets(["20%", "50%"]), "last",
                Sample("0.5"), ("pfoo_l", "pfoo_u"))
    draw_sample(census.engine, ingested.identity, Sample("0.5"))
    stream = extract_stream(census.derived(ingested), "window", tmp_path / "sample.arrow", Sample("0.5"))
    assert isinstance(census.engine, SpreadingEngine)
    assert cells_spread(census.engine, plan, tmp_path / "sample.arrow", 3) == cells_here(plan, stream, 3, threads=1)
