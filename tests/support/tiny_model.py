"""A language model with random weights, small enough to travel with a checkout.

It is an OPT of two layers over bytes: what it says means nothing, and it says the same every time.
"""

from __future__ import annotations

import json
import random
import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LAYERS, HEADS, WIDTH, INNER, POSITIONS = 2, 2, 64, 128, 128
SPECIAL = ("<pad>", "<s>", "</s>")
VOCABULARY = len(SPECIAL) + 256
_OFFSET = 2
"""Positions of an OPT are counted from here."""

_DEVIATION = 0.3
"""Of the weights: large enough that words differ."""


def write_model(folder: Path, seed: int = 1) -> None:
    """Write everything that a server of models reads, as a repository of the hub has it.

    Args:
        folder: A new folder.
        seed: The same one makes the same model.
    """
    folder.mkdir(parents=True)
    documents = {
        "config.json": _config(),
        "generation_config.json": {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0},
        "tokenizer.json": _tokenizer(),
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": POSITIONS,
            **dict(zip(("pad_token", "bos_token", "eos_token"), SPECIAL, strict=True)),
        },
    }
    for name, content in documents.items():
        (folder / name).write_text(json.dumps(content, indent=1))
    (folder / "model.safetensors").write_bytes(safetensors(dict(_shapes()), random.Random(seed)))  # noqa: S311


def safetensors(shapes: dict[str, tuple[int, ...]], chance: random.Random) -> bytes:
    """Random tensors of half precision in the format `safetensors`: those called `norm` are 1.

    Args:
        shapes: The tensors, by name.
        chance: Where weights come from.
    """
    header: dict[str, Any] = {}
    body = bytearray()
    for name, shape in shapes.items():
        count = 1
        for size in shape:
            count *= size
        ones = "norm" in name and name.endswith("weight")
        values = [1.0] * count if ones else [chance.gauss(0, _DEVIATION) for _ in range(count)]
        start = len(body)
        body += struct.pack(f"<{count}e", *values)
        about = {"dtype": "F16", "shape": list(shape), "data_offsets": [start, len(body)]}
        header[name] = about
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + bytes(body)


def _config() -> dict[str, Any]:
    return {
        "architectures": ["OPTForCausalLM"],
        "model_type": "opt",
        "activation_function": "relu",
        "do_layer_norm_before": True,
        "ffn_dim": INNER,
        "hidden_size": WIDTH,
        "max_position_embeddings": POSITIONS,
        "num_attention_heads": HEADS,
        "num_hidden_layers": LAYERS,
        "tie_word_embeddings": True,
        "torch_dtype": "float32",
        "vocab_size": VOCABULARY,
        "word_embed_proj_dim": WIDTH,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 0,
    }


def _shapes() -> Iterator[tuple[str, tuple[int, ...]]]:
    top = "model.decoder"
    yield f"{top}.embed_tokens.weight", (VOCABULARY, WIDTH)
    yield f"{top}.embed_positions.weight", (POSITIONS + _OFFSET, WIDTH)
    yield from _both(f"{top}.final_layer_norm", WIDTH)
    for number in range(LAYERS):
        layer = f"{top}.layers.{number}"
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            yield from _both(f"{layer}.self_attn.{name}", WIDTH, WIDTH)
        yield from _both(f"{layer}.fc1", INNER, WIDTH)
        yield from _both(f"{layer}.fc2", WIDTH, INNER)
        yield from _both(f"{layer}.self_attn_layer_norm", WIDTH)
        yield from _both(f"{layer}.final_layer_norm", WIDTH)


def _both(name: str, *shape: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield f"{name}.weight", shape
    yield f"{name}.bias", shape[:1]


def _tokenizer() -> dict[str, Any]:
    """Each byte is a token; in these files it is written as a letter of its own."""
    letters = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in letters]
    written = {byte: chr(byte) for byte in letters}
    written |= {byte: chr(256 + place) for place, byte in enumerate(others)}
    tokens = [*SPECIAL, *(written[byte] for byte in range(256))]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}
    special = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {
        "version": "1.0",
        "added_tokens": [
            {"id": number, "content": token, "special": True, **special}
            for number, token in enumerate(SPECIAL)
        ],
        "normalizer": None,
        "pre_tokenizer": {**byte_level, "trim_offsets": True},
        "decoder": {**byte_level, "trim_offsets": True},
        "post_processor": None,
        "model": {
            "type": "BPE",
            "vocab": {token: number for number, token in enumerate(tokens)},
            "merges": [],
        },
    }
