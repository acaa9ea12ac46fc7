"""Whatever is accepted can be sent to the cluster, and stays in its bounds."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from devctl_gateway.cluster.objects import manifest
from devctl_gateway.schemas.jobs import NewJob, image_parts, spec_of
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

ROOT = Path(__file__).resolve().parents[4]
[CRD] = [
    each
    for file in (ROOT / "config/crd").glob("*gpuworkerjob*")
    for each in yaml.safe_load_all(file.read_text())
]
FIELDS = CRD["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]

characters = st.characters(codec=None, exclude_categories=())
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(characters, max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(characters, max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
inputs = st.dictionaries(st.text(characters, max_size=3), values, max_size=3)


def asked(**fields: Any) -> NewJob:
    return NewJob.model_validate({"job_name": "a", "docker_image": "busybox", **fields})


def spec(**fields: Any) -> dict[str, Any]:
    return spec_of(asked(**fields), "acc-1", "")


def strict(text: str) -> None:
    raise AssertionError(text)


@given(inputs)
def test_any_input_that_is_accepted_is_json_and_can_be_sent(data: dict[str, Any]) -> None:
    try:
        found = spec(input_data=data)
    except ValueError:
        return
    assert json.loads(found["inputData"], parse_constant=strict) == data
    job = manifest("job-1", "imagepod", found)
    sent = httpx2.Request("PATCH", "https://a.example", json=job)
    assert json.loads(sent.content) == job


@pytest.mark.parametrize("text", ["\ud800", "\udc00a"])
def test_half_a_character_is_refused_with_what_to_do(text: str) -> None:
    for data in ({"a": text}, {text: 1}, {"a": [{"b": text}]}):
        with pytest.raises(ValueError, match="send whole characters"):
            spec(input_data=data)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_cannot_write_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="send it as text"):
        spec(input_data={"a": [number]})


def test_input_is_measured_in_bytes() -> None:
    room = FIELDS["inputData"]["maxLength"] - len('{"a":""}')
    assert len(spec(input_data={"a": "x" * room})["inputData"]) == FIELDS["inputData"]["maxLength"]
    for data in ("x" * (room + 1), "\u20ac" * (room // 3 + 1)):
        with pytest.raises(ValueError, match="store more than that elsewhere"):
            spec(input_data={"a": data})


@given(st.integers(1, 8 << 20), st.none() | st.integers(0, 8))
def test_gpu_memory_that_is_accepted_is_what_a_gpu_can_have(memory: int, count: int | None) -> None:
    try:
        found = spec(gpu_memory_required=memory, gpu_count=count)
    except ValueError:
        return
    field = FIELDS["gpuMemoryMegabytes"]
    assert field["minimum"] <= found["gpuMemoryMegabytes"] <= field["maximum"]
    assert found["gpuMemoryMegabytes"] * found["gpus"] >= memory


def test_more_memory_than_any_gpu_has_is_refused_with_what_to_do() -> None:
    with pytest.raises(ValueError, match="raise gpu_count"):
        spec(gpu_memory_required=(1 << 20) + 1)
    assert spec(gpu_memory_required=1 << 21, gpu_count=2)["gpuMemoryMegabytes"] == 1 << 20


@pytest.mark.parametrize(
    ("image", "tag", "reference"),
    [
        ("busybox", "latest", "busybox:latest"),
        ("library/busy_box", "1.36", "library/busy_box:1.36"),
        ("a.example:5000/team/train-gpu", "v1", "a.example:5000/team/train-gpu:v1"),
        ("A.example/team/a__b", "V1", "A.example/team/a__b:V1"),
        ("a", "sha256:" + "0" * 64, "a@sha256:" + "0" * 64),
    ],
)
def test_an_image_and_a_tag_or_a_digest_are_a_reference(
    image: str, tag: str, reference: str
) -> None:
    assert spec(docker_image=image, docker_tag=tag)["image"] == reference


@pytest.mark.parametrize(
    "image",
    ["a:1", "a@sha256:" + "0" * 64, "team/Busybox", "a//b", "/a", "a/", "a b", "a\n", "", "-a"],
)
def test_an_image_that_is_none_or_has_a_tag_already_is_refused(image: str) -> None:
    with pytest.raises(ValidationError, match="docker_image\n  String should"):
        asked(docker_image=image)


@pytest.mark.parametrize("tag", ["", "a/b", "a@b", "a:b", ".a", "a\n", "sha256:0", "x" * 129])
def test_a_tag_reaches_no_other_registry(tag: str) -> None:
    with pytest.raises(ValidationError, match="docker_tag\n  String should"):
        asked(docker_tag=tag)


@given(st.text("aA0._:/@- \n", max_size=20), st.text("aA0._:/@- \n", min_size=1, max_size=12))
def test_what_is_accepted_keeps_the_image_and_the_tag_apart(image: str, tag: str) -> None:
    try:
        found = spec(docker_image=image, docker_tag=tag)["image"]
    except ValidationError:
        return
    assert found.rpartition(":") == (image, ":", tag)
    assert len(found) <= FIELDS["image"]["maxLength"]


def test_the_longest_reference_is_one_that_the_cluster_takes() -> None:
    found = spec(docker_image="a" * 255, docker_tag="b" * 128)["image"]
    assert len(found) <= FIELDS["image"]["maxLength"]


def test_the_claim_of_artifacts_is_the_gateway_s_to_say() -> None:
    assert "artifactsClaim" not in spec()
    assert spec_of(asked(), "acc-1", "", "kept")["artifactsClaim"] == "kept"
    assert "artifactsClaim" in FIELDS
    for name in ("artifactsClaim", "artifacts_claim"):
        with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
            asked(**{name: "of-somebody-else"})


@given(st.text("aA0._:/@-", max_size=20), st.text("aA0._:@-", min_size=1, max_size=12))
def test_an_answer_has_the_image_and_the_tag_that_were_asked_for(image: str, tag: str) -> None:
    try:
        new = asked(docker_image=image, docker_tag=tag)
    except ValidationError:
        return
    assert image_parts(new.image) == (image, tag)
