"""The tiny model: the same bytes for a seed, whole or not at all."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path

import numpy as np
import pytest

from replay.live.tiny_model import TinyLlama, write_tiny_model


def digest(folder: Path) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(folder.iterdir()))).hexdigest()


def test_a_seed_gives_the_same_bytes(tmp_path: Path):
    one, two, other = (write_tiny_model(tmp_path / name, seed) for name, seed in (("a", 0), ("b", 0), ("c", 1)))
    assert digest(one) == digest(two) != digest(other)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "c"]
    assert sum(path.stat().st_size for path in one.iterdir()) < 2_000_000


def test_weights_have_the_shapes_of_the_configuration(tmp_path: Path):
    shape = TinyLlama(vocabulary=40, hidden=16, inner=24, layers=1, heads=2, kv_heads=1, head_dim=8)
    model = write_tiny_model(tmp_path / "model", shape=shape)
    data = (model / "model.safetensors").read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__")
    assert {name: each["shape"] for name, each in header.items() if ".0." in name and "norm" not in name} == {
        "model.layers.0.self_attn.q_proj.weight": [16, 16], "model.layers.0.self_attn.k_proj.weight": [8, 16],
        "model.layers.0.self_attn.v_proj.weight": [8, 16], "model.layers.0.self_attn.o_proj.weight": [16, 16],
        "model.layers.0.mlp.gate_proj.weight": [24, 16], "model.layers.0.mlp.up_proj.weight": [24, 16],
        "model.layers.0.mlp.down_proj.weight": [16, 24]}
    assert max(each["data_offsets"][1] for each in header.values()) == len(data) - 8 - length
    first, last = header["model.norm.weight"]["data_offsets"]
    norm = np.frombuffer(data[8 + length:][first:last], "<f4")
    assert norm.tolist() == [1.0] * 16
    assert shape.kv_bytes_per_token == 2 * 1 * 1 * 8 * 4


def test_a_token_is_a_word(tmp_path: Path):
    tokenizer = json.loads((write_tiny_model(tmp_path / "model") / "tokenizer.json").read_text(encoding="utf-8"))
    words = tokenizer["model"]["vocab"]
    assert len(words) == 512
    assert (words["</s>"], words["w4"], words["w511"]) == (2, 4, 511)


def test_a_folder_that_exists_is_left_alone(tmp_path: Path):
    model = write_tiny_model(tmp_path / "model")
    before = digest(model)
    with pytest.raises(OSError, match=r"not empty|exists"):
        write_tiny_model(tmp_path / "model", seed=1)
    assert digest(model) == before
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
