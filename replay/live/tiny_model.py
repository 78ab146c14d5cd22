"""A Llama of a few hundred kilobytes with random weights and a vocabulary of made-up words, for servers without a GPU.

It is a model in the format that every engine reads: configuration, weights (safetensors), tokenizer. Nothing but NumPy
makes it, so a seed gives the same bytes everywhere. What it says means nothing; that the same prompt gets the same
answer does.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

__all__ = ["TinyLlama", "write_tiny_model"]

_SPECIAL = ("<pad>", "<s>", "</s>", "<unk>")
_FLOAT_BYTES = 4
_Tensor = NDArray[np.float32]


@dataclass(frozen=True)
class TinyLlama:
    """The shape of a model.

    Attributes
    ----------
    vocabulary : int
        Tokens; the first four are special: pad, begin, end, unknown.
    hidden, inner, layers, heads, kv_heads, head_dim : int
    positions : int
        Longest context in tokens.
    """

    vocabulary: int = 512
    hidden: int = 64
    inner: int = 128
    layers: int = 2
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 32
    positions: int = 8192

    @property
    def kv_bytes_per_token(self) -> int:
        """2 (keys and values) * layers * kv_heads * head_dim * 4 bytes."""
        return 2 * self.layers * self.kv_heads * self.head_dim * _FLOAT_BYTES

    @property
    def first_word(self) -> int:
        """The first token that is not special."""
        return len(_SPECIAL)


def write_tiny_model(folder: Path, seed: int = 0, shape: TinyLlama | None = None) -> Path:
    """Make a model in `folder`, which must not exist; it appears whole. Returns `folder`."""
    shape = shape or TinyLlama()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent, prefix=".making-") as parent:
        made = Path(parent) / "model"
        made.mkdir()
        for name, content in {"config.json": _config(shape), "generation_config.json": {"eos_token_id": 2},
                              "tokenizer.json": _tokenizer(shape),
                              "tokenizer_config.json": _tokenizer_config(shape)}.items():
            (made / name).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        _write_tensors(made / "model.safetensors", _weights(shape, seed))
        made.rename(folder)
    return folder


def _config(shape: TinyLlama) -> dict[str, object]:
    return {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": shape.vocabulary,
        "hidden_size": shape.hidden, "intermediate_size": shape.inner, "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads, "num_key_value_heads": shape.kv_heads, "head_dim": shape.head_dim,
        "max_position_embeddings": shape.positions, "hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
        "attention_bias": False, "mlp_bias": False, "tie_word_embeddings": False, "torch_dtype": "float32",
        "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
    }


def _weights(shape: TinyLlama, seed: int) -> dict[str, _Tensor]:
    """Keys and queries are so large that attention singles tokens out: answers depend on all of a prompt."""
    draw = np.random.Generator(np.random.PCG64(seed))

    def matrix(rows: int, columns: int, scale: float = 1.0) -> _Tensor:
        drawn: _Tensor = (draw.standard_normal((rows, columns)) * scale / np.sqrt(columns)).astype(np.float32)
        return drawn

    ones = np.ones(shape.hidden, np.float32)
    tensors = {"model.embed_tokens.weight": matrix(shape.vocabulary, shape.hidden, np.sqrt(shape.hidden)),
               "model.norm.weight": ones, "lm_head.weight": matrix(shape.vocabulary, shape.hidden, 4.0)}
    for layer in range(shape.layers):
        name = f"model.layers.{layer}."
        wide, narrow = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
        tensors |= {
            name + "input_layernorm.weight": ones, name + "post_attention_layernorm.weight": ones,
            name + "self_attn.q_proj.weight": matrix(wide, shape.hidden, 1.5),
            name + "self_attn.k_proj.weight": matrix(narrow, shape.hidden, 1.5),
            name + "self_attn.v_proj.weight": matrix(narrow, shape.hidden, 2.0),
            name + "self_attn.o_proj.weight": matrix(shape.hidden, wide, 2.0),
            name + "mlp.gate_proj.weight": matrix(shape.inner, shape.hidden),
            name + "mlp.up_proj.weight": matrix(shape.inner, shape.hidden),
            name + "mlp.down_proj.weight": matrix(shape.hidden, shape.inner),
        }
    return tensors


def _write_tensors(path: Path, tensors: dict[str, _Tensor]) -> None:
    """The safetensors format: length of the header, header (JSON, padded to 8 bytes), tensors."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": "F32", "shape": tensor.shape, "data_offsets": (end, end + tensor.nbytes)}
        end += tensor.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            file.write(tensor.astype("<f4").tobytes())


def _tokenizer(shape: TinyLlama) -> dict[str, object]:
    """Words w4, w5, ... between spaces, one token each; the number is the token."""
    words = [*_SPECIAL, *(f"w{token}" for token in range(len(_SPECIAL), shape.vocabulary))]
    return {
        "version": "1.0", "truncation": None, "padding": None, "normalizer": None, "post_processor": None,
        "decoder": None, "pre_tokenizer": {"type": "WhitespaceSplit"},
        "added_tokens": [{"id": token, "content": word, "single_word": False, "lstrip": False, "rstrip": False,
                          "normalized": False, "special": True} for token, word in enumerate(_SPECIAL)],
        "model": {"type": "WordLevel", "unk_token": "<unk>",
                  "vocab": {word: token for token, word in enumerate(words)}},
    }


def _tokenizer_config(shape: TinyLlama) -> dict[str, object]:
    return {
        "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": shape.positions,
        "pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>",
        "clean_up_tokenization_spaces": False,
        "chat_template": "{% for message in messages %}{{ message['content'] }} {% endfor %}",
    }
