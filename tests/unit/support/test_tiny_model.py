"""The tiny model: what is in its files."""

from __future__ import annotations

import json
import math
import struct
from typing import TYPE_CHECKING

from support.tiny_model import POSITIONS, VOCABULARY, WIDTH, write_model

if TYPE_CHECKING:
    from pathlib import Path


def test_a_seed_makes_one_model(tmp_path: Path) -> None:
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        write_model(tmp_path / name, seed)
    names = {file.name for file in (tmp_path / "one").iterdir()}
    same = {n for n in names if _read(tmp_path / "one" / n) == _read(tmp_path / "other" / n)}
    assert names - same == {"model.safetensors"}
    assert all(_read(tmp_path / "one" / n) == _read(tmp_path / "again" / n) for n in names)


def test_its_weights_are_where_the_header_says(tmp_path: Path) -> None:
    write_model(tmp_path / "tiny")
    data = _read(tmp_path / "tiny/model.safetensors")
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    body = data[8 + length :]
    end = 0
    for about in header.values():
        start, end = end, about["data_offsets"][1]
        assert about["data_offsets"][0] == start
        assert end - start == 2 * math.prod(about["shape"])
    assert end == len(body)
    shapes = {name.removeprefix("model.decoder."): about["shape"] for name, about in header.items()}
    assert shapes["embed_tokens.weight"] == [VOCABULARY, WIDTH]
    # An OPT counts positions from 2.
    assert shapes["embed_positions.weight"] == [POSITIONS + 2, WIDTH]
    assert len(header) == 4 + 2 * 16


def test_every_byte_is_a_token(tmp_path: Path) -> None:
    write_model(tmp_path / "tiny")
    model = json.loads((tmp_path / "tiny/tokenizer.json").read_text())["model"]
    assert sorted(model["vocab"].values()) == list(range(VOCABULARY))
    assert model["merges"] == []


def _read(file: Path) -> bytes:
    return file.read_bytes()
