"""Platform files of the simulator: shipped values follow from their sources; bad ones are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.facts import KINDS
from replay.tier.platform import load_server, servers
from telemetry.errors import UsageError

PARAMETERS = 8_030_261_248
#: 16-bit FLOP a second, memory bytes a second, link bytes a second one way, from the data sheets.
GPUS = {"h100-tenure": (989_400, 3_350, 64), "a100-80": (312_000, 2_039, 32), "h200-continuum-d": (989_400, 4_800, 64)}


@pytest.mark.parametrize("name", GPUS)
def test_shipped_values_follow_from_what_their_source_says(name: str) -> None:
    flops, memory, link = GPUS[name]
    server = load_server(name).server
    assert server.kv_bytes_per_token == 131_072
    assert server.prefill_tokens_per_s == flops * 10**9 // 2 // (2 * PARAMETERS)
    assert server.attention_tokens == 2 * PARAMETERS // (4 * 32 * 4096)
    assert server.step_floor_us == 2 * PARAMETERS * 10**6 // (memory * 10**9)
    assert server.decode_kv_bytes_per_s == memory * 10**9
    assert server.link_bytes_per_s == link * 8 * 10**8
    assert server.block_bytes == 256 * 131_072


@pytest.mark.parametrize("name", servers())
def test_every_value_has_a_source(name: str) -> None:
    for fact in load_server(name).facts.values():
        assert fact.kind in KINDS
        assert fact.source


def test_a_bad_file_is_refused_with_key_and_line(tmp_path: Path) -> None:
    text = servers()["h100-tenure"].read_text()
    path = tmp_path / "mine.toml"
    path.write_text(text.replace("value = 8_192", "value = 0.5"))
    with pytest.raises(UsageError, match=r"line \d+: max_batched_tokens\.value = '0\.5': a whole number above 0"):
        load_server(str(path))
    path.write_text(text.replace("value = 6_000_000_000", "value = 1"))
    with pytest.raises(UsageError, match=r"device_kv_bytes = 1 holds no block of 33,554,432 bytes"):
        load_server(str(path))
    with pytest.raises(UsageError, match=r"unknown platform 'b300'\. Known: a100-80, cpu-tiny, h100-tenure"):
        load_server("b300")
