"""Platform files: exact values, each with its source; bad ones are refused with key and line."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from cost_stores import PLATFORM, platform

from replay.cost.break_even import break_even
from replay.cost.platform import DEFAULT_PLATFORM, KINDS, load_platform, platforms
from telemetry.errors import InputError, UsageError

#: 16-bit FLOP a second and bytes of memory, from the data sheets; parameters, and GPUs over which weights are spread.
GPUS = {"h100": (989_400, 80), "a100-80": (312_000, 80), "h200": (989_400, 141)}
MODELS = {"llama-2-70b": (68_976_648_192, 8), "llama-3.1-8b": (8_030_261_248, 1)}


@pytest.mark.parametrize("name", platforms())
def test_shipped_values_follow_from_what_their_source_says(name: str) -> None:
    shipped = load_platform(name)
    gpu, _, model = name.partition("-llama")
    (flops, memory), (parameters, gpus) = GPUS[gpu], MODELS[f"llama{model}"]
    assert shipped.geometry.name == f"llama{model}"
    assert shipped.prefill_tokens_per_s.value == flops * 10**9 // 2 // (2 * parameters)
    assert shipped.usable_hbm_bytes.value == memory * 9 * 10**8 - 2 * parameters // gpus
    assert shipped.gpus_per_replica.value == gpus
    assert shipped.link_bytes_per_s.value == (32 if gpu == "a100-80" else 64) * 10**9
    for fact in shipped.facts.values():
        assert fact.kind in KINDS
        assert fact.source
    assert shipped.price_per_gpu_hour.kind == "assumed"
    assert {fact.kind for fact in shipped.facts.values()} == {"derived", "assumed"}


def test_there_are_models_to_copy() -> None:
    assert len(platforms()) == 6
    assert DEFAULT_PLATFORM in platforms()


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    mine = load_platform(str(platform(tmp_path)))
    assert (mine.name, mine.gpu, mine.model, mine.currency) == ("mine", "a GPU", "a model", "EUR")
    assert mine.geometry.bytes_per_token == 100
    assert mine.price_per_gpu_hour.value == Fraction(18, 5)  # 3.6 as written, no double
    assert mine.prefill_tokens_per_s.kind == "measured"
    assert mine.link_bytes_per_s.source == "half of it"


@pytest.mark.parametrize(("size", "gpus"), [(0, 0), (1, 2), (1200, 2), (1201, 4), (12_000, 20)])
def test_gpus_come_in_replicas(tmp_path: Path, size: int, gpus: int) -> None:
    assert load_platform(str(platform(tmp_path))).gpus(size) == gpus


@pytest.mark.parametrize(("old", "new", "says"), [
    ("value = 50", "value = -50", ["line 6", "prefill_tokens_per_s.value = '-50'", "whole number above 0"]),
    ("value = 50", "value = 50.5", ["line 6", "'50.5'", "whole number"]),
    ("value = 50", "value = true", ["line 6", "prefill_tokens_per_s.value", "whole number"]),
    ("value = 50", "value = '50'", ["line 6", "'50'", "whole number"]),
    ("value = 50", "value = nan", ["line 6", "whole number"]),
    ("value = 50", "value = 1e19", ["line 6", "10^18"]),
    ("value = 50\n", "", ["line 5", "prefill_tokens_per_s.value"]),
    ("value = 3.6", "value = 0", ["line 18", "price_per_gpu_hour.value", "a number above 0"]),
    ("value = 3.6", "value = inf", ["line 18", "a number above 0"]),
    ('source = "here"', 'source = " "', ["line 8", "prefill_tokens_per_s.source", "text in quotes"]),
    ('source = "here"\n', "", ["line 5", "prefill_tokens_per_s.source", "text in quotes"]),
    ('kind = "measured"', 'kind = "guessed"', ["line 7", "'guessed'", "published, derived, assumed, measured"]),
    ("[link_bytes_per_s]", "[link_bytes_per_sec]", ["line 21", "link_bytes_per_sec", "did you mean link_bytes_per_s?"]),
    ('source = "so"', 'source = "so"\nnote = "x"', ["line 17", "gpus_per_replica.note", "value, kind, source"]),
    ('geometry = "{beta}"', 'geometry = "gpt-5"', ["line 3", "'gpt-5'", "llama-2-70b"]),
    ('currency = "EUR"', "currency = 3", ["line 4", "currency = '3'", "text in quotes"]),
    ('gpu = "a GPU"', 'gpu = "a GPU', ["line 1"]),
    ("[usable_hbm_bytes]\nvalue = 600\n", "usable_hbm_bytes = 600\n[x]\n", ["usable_hbm_bytes"]),
    (PLATFORM[PLATFORM.index("[link"):], "", ["link_bytes_per_s", "[link_bytes_per_s] table"]),
])
def test_a_bad_file_is_refused_with_key_and_line(tmp_path: Path, old: str, new: str, says: list[str]) -> None:
    assert old in PLATFORM
    path = platform(tmp_path, PLATFORM.replace(old, new, 1))
    with pytest.raises(UsageError) as raised:
        load_platform(str(path))
    message = str(raised.value)
    assert message.startswith(f"--platform {path}")
    assert message.endswith(".")
    assert [part for part in says if part not in message] == []


def test_what_is_no_platform(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"unknown platform 'b300'\. Known: a100-80-llama-2-70b, .*\.toml"):
        load_platform("b300")
    with pytest.raises(InputError, match=r"nothing\.toml cannot be read: No such file"):
        load_platform(str(tmp_path / "nothing.toml"))
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="no UTF-8"):
        load_platform(str(tmp_path / "bytes.toml"))


def test_break_even_is_beta_times_the_prefill_rate(tmp_path: Path) -> None:
    # 100 bytes a token * 50 tokens a second; a quarter of it for int4. The link of 10,000 is 2 and 8 times that.
    found = break_even(load_platform(str(platform(tmp_path))))
    assert [(each.form, each.bytes_per_s, each.times) for each in found] == [("fp16", 5000, 2), ("int4", 1250, 8)]


def test_the_papers_break_even() -> None:
    # Section 5.7: "at least about 1 GB/s for fp16", for the reference model.
    fp16 = break_even(load_platform("h100-llama-2-70b"))[0]
    assert Decimal("1e9") < fp16.bytes_per_s < Decimal("1.3e9")
