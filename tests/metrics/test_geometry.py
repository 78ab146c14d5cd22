"""KV bytes a token, from published configurations."""

from __future__ import annotations

import pytest

from metrics.core.geometry import GEOMETRIES, find_geometry
from telemetry.errors import UsageError


@pytest.mark.parametrize(("name", "bytes_per_token"), [
    ("llama-2-70b", 327_680),  # 2 * 80 * 8 * 128 * 2
    ("llama-3.1-8b", 131_072),  # 2 * 32 * 8 * 128 * 2
    ("llama-3.1-70b", 327_680),
    ("qwen2.5-7b", 57_344),  # 2 * 28 * 4 * 128 * 2
    ("deepseek-v3", 70_272),  # 61 * (512 + 64) * 2
    ("jamba-v0.1", 16_384),  # 2 * 4 * 8 * 128 * 2
])
def test_named_geometries(name: str, bytes_per_token: int) -> None:
    geometry = find_geometry(name)
    assert geometry.bytes_per_token == bytes_per_token
    assert "arXiv:" in geometry.source


def test_every_geometry_is_tested_above_and_knows_its_name() -> None:
    assert len(GEOMETRIES) == 6
    assert all(geometry.name == name for name, geometry in GEOMETRIES.items())


def test_a_number_is_a_geometry() -> None:
    assert find_geometry("1000").bytes_per_token == 1000


@pytest.mark.parametrize("text", ["gpt-9", "0", "-5", "1.5", "1000000001", ""])
def test_unknown_geometries_list_the_known(text: str) -> None:
    with pytest.raises(UsageError, match=r"llama-2-70b.*or a whole number"):
        find_geometry(text)
