from __future__ import annotations

import json
import re
from dataclasses import replace
from io import BytesIO
from typing import TYPE_CHECKING

import pytest
from devctl_inference import safetensors_header, weights
from devctl_inference.failure import Failure, Reason
from hypothesis import given
from hypothesis import strategies as st

from unit.inference.conftest import SHAPES, safetensors

if TYPE_CHECKING:
    from devctl_inference.settings import Settings


def test_without_a_word_the_volumes_usual_ones_are_taken(job: Settings) -> None:
    found = weights.find(job)
    assert found.tensors.path == f"{job.volume}/resnet50.safetensors"
    assert found.labels.path == f"{job.volume}/resnet50-labels.json"
    assert found.wanted() == [found.tensors, found.labels]


def test_those_of_the_image_come_first_and_are_not_waited_for(job: Settings) -> None:
    job.baked.mkdir()
    (job.baked / "resnet50.safetensors").write_bytes(safetensors())
    found = weights.find(job)
    assert found.tensors.path == f"{job.baked}/resnet50.safetensors"
    assert found.labels.path == f"{job.baked}/resnet50-labels.json"
    assert found.wanted() == []


def test_what_the_job_names_comes_before_those_of_the_image(job: Settings) -> None:
    job.baked.mkdir()
    (job.baked / "resnet50.safetensors").write_bytes(safetensors())
    found = weights.find(replace(job, weights=f"{job.volume}/run/digits.safetensors"))
    assert found.labels.path == f"{job.volume}/run/digits-labels.json"
    found = weights.find(replace(job, weights="/x/a.safetensors", labels="/x/b.json"))
    assert [file.path for file in found.wanted()] == ["/x/a.safetensors", "/x/b.json"]


@pytest.mark.parametrize("name", ["a.pt", "a.pth", "a.bin", "a.pkl", "a", "a.safetensors.pt"])
def test_a_format_that_can_run_code_is_not_opened(job: Settings, name: str) -> None:
    with pytest.raises(Failure, match=r"does not end in \.safetensors$") as caught:
        weights.find(replace(job, weights=f"{job.volume}/{name}"))
    assert caught.value.reason is Reason.WEIGHTS_INVALID


def read(job: Settings, data: bytes) -> bytes:
    (job.volume / "resnet50.safetensors").write_bytes(data)
    return weights.read(weights.find(job).tensors, SHAPES)


@pytest.mark.parametrize(("dtype", "size"), [("F32", 4), ("F16", 2), ("BF16", 2), ("F64", 8)])
def test_a_file_of_the_models_tensors_is_read_whole(job: Settings, dtype: str, size: int) -> None:
    data = safetensors(SHAPES, dtype, size)
    assert read(job, data) == data


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({}, "has no `fc.bias` and 1 more"),
        ({"fc.bias": (2,)}, "has no `fc.weight`"),
        ({**SHAPES, "more": (1,)}, "has an unknown `more`"),
        ({**SHAPES, "fc.bias": (10,)}, "has `fc.bias` as [10], not [2]"),
        ({"fc.bias": (10,), "fc.weight": (10, 3)}, "[10], not [2]; has `fc.weight` as [10, 3]"),
    ],
)
def test_those_of_another_model_are_refused(
    job: Settings, tensors: dict[str, tuple[int, ...]], message: str
) -> None:
    with pytest.raises(Failure, match=re.escape(message)) as caught:
        read(job, safetensors(tensors))
    assert caught.value.reason is Reason.WEIGHTS_INVALID


def header(found: object) -> bytes:
    text = json.dumps(found).encode()
    return len(text).to_bytes(8, "little") + text


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"x", id="short"),
        pytest.param(b"PK\x03\x04" + bytes(1000), id="pickle-in-a-zip"),
        pytest.param((1 << 62).to_bytes(8, "little") + b"{}", id="huge-header"),
        pytest.param((2).to_bytes(8, "little") + b"{", id="header-cut"),
        pytest.param(header([1]), id="a-list"),
        pytest.param(header({"a": 1}), id="no-tensor"),
        pytest.param(header({"a": {"dtype": "F32"}}), id="no-shape"),
        pytest.param(header({"a": {"dtype": "F32", "shape": [-1, -1]}}), id="negative"),
        pytest.param(header({"a": {"dtype": "F32", "shape": [True]}}), id="no-number"),
        pytest.param(header({"a": {"dtype": "F8", "shape": [1]}}), id="dtype"),
        pytest.param(header({"a": {"dtype": ["F32"], "shape": [1]}}), id="dtype-list"),
        pytest.param(header({"a": {"dtype": "F32", "shape": [2**31] * 9}}), id="huge-tensor"),
        pytest.param((9**6).to_bytes(8, "little") + b"[" * 9**6, id="nested"),
        pytest.param(safetensors()[:-1], id="truncated"),
        pytest.param(safetensors() + b"x", id="too-long"),
    ],
)
def test_a_damaged_file_is_refused(job: Settings, data: bytes) -> None:
    with pytest.raises(Failure) as caught:
        read(job, data)
    assert caught.value.reason is Reason.WEIGHTS_INVALID


def test_a_tensor_of_very_many_sides_is_refused_at_once(job: Settings) -> None:
    """Their product used to take minutes, and was too long for a message."""
    data = header({"a": {"dtype": "F32", "shape": [2**31] * 60_000}})
    with pytest.raises(Failure, match=r"`a` is not a tensor of F64, F32, F16, BF16, I64$"):
        read(job, data)


@given(st.binary(max_size=200), st.booleans())
def test_no_head_does_anything_but_fail(data: bytes, prefixed: bool) -> None:  # noqa: FBT001
    whole = len(data).to_bytes(8, "little") + data if prefixed else data
    try:
        safetensors_header.read(BytesIO(whole), len(whole))
    except ValueError:
        return
    assert prefixed
