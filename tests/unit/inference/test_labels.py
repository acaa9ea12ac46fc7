from __future__ import annotations

import json
import math
from typing import Any

import pytest
from devctl_inference.failure import Failure, Reason
from devctl_inference.labels import parse
from devctl_inference.preprocess import IMAGENET
from hypothesis import given
from hypothesis import strategies as st

PREPROCESS = {"size": [64, 32], "mean": [0, 0.5, 1], "std": [1, 0.5, 2], "grayscale": True}


def said(**changes: Any) -> bytes:
    return json.dumps({"labels": ["0"], "preprocess": {**PREPROCESS, **changes}}).encode()


def test_a_list_means_images_as_imagenets() -> None:
    found = parse(b'["tabby cat", "crane", "crane"]', "x")
    assert found.names == ("tabby cat", "crane", "crane")
    assert found.preprocess is IMAGENET


def test_an_object_says_how_images_are_prepared() -> None:
    found = parse(said(), "x")
    assert found.names == ("0",)
    assert found.preprocess == ((64, 32), (0, 0.5, 1), (1, 0.5, 2), True, None)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(data, id=data[:30].decode(errors="replace"))
        for data in (
            *(b"", b"{", b"\xff\xfe[", b"null", b"3", b'"a"', b"[]", b"{}", b"[1]", b'[""]'),
            *(b"[null]", b'["a\\n"]', b'["\\ud800"]', b'["%s"]' % (b"a" * 257), b'["a"] x'),
            *(b'{"labels": ["a"]}', b'{"preprocess": {}}', b"[" * 100_000),
            b'{"labels": "ab", "preprocess": {}}',
            b'{"labels": ["a"], "labels": ["b"], "preprocess": {}}',
            b'{"labels": ["a"], "preprocess": [1, 2, 3, 4]}',
            b'{"labels": ["a"], "preprocess": %s, "more": 1}' % json.dumps(PREPROCESS).encode(),
            json.dumps(["a"] * 100_001).encode(),
            *(said(size=s) for s in (64, [64], [64, 64, 3], [0, 64], [64, 1025], [True, 64])),
            *(said(size=s) for s in ([64.0, 64], ["64", "64"], [-1, 64], {"h": 1, "w": 1})),
            *(said(mean=m) for m in (0.5, [0.5], [0.5] * 4, ["0"] * 3, [None] * 3, [True] * 3)),
            *(said(mean=m) for m in ([math.nan] * 3, [math.inf] * 3, [1e9] * 3, [10**400] * 3)),
            *(said(std=s) for s in ([0, 1, 1], [1, -1, 1], [1e-300] * 3, [1e9] * 3)),
            *(said(grayscale=g) for g in (1, "true", None)),
            said(more=1),
            said().replace(b"64", b"9" * 5000),
            said().replace(b"0.5", b"1e999"),
        )
    ],
)
def test_anything_else_is_refused(data: bytes) -> None:
    with pytest.raises(Failure, match=r"^/l is not a labels file: ") as caught:
        parse(data, "/l")
    assert caught.value.reason is Reason.WEIGHTS_INVALID


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
SIZES = st.lists(st.integers(-2, 2000), max_size=3)
THREE = st.lists(st.floats() | st.integers(), min_size=3, max_size=3)
FILES = st.fixed_dictionaries(
    {
        "labels": st.lists(st.text(min_size=1, max_size=5), min_size=1) | JSON,
        "preprocess": st.fixed_dictionaries(
            {"size": SIZES, "mean": THREE, "std": THREE, "grayscale": st.booleans() | JSON}
        ),
    }
)


@given(st.binary() | (JSON | FILES).map(lambda found: json.dumps(found).encode()))
def test_whatever_is_in_the_file_is_refused_or_usable(data: bytes) -> None:
    try:
        names, preprocess = parse(data, "x")
    except Failure as failure:
        assert failure.reason is Reason.WEIGHTS_INVALID  # noqa: PT017 - one of two ends
        return
    assert names
    "".join(names).encode()
    height, width = preprocess.size
    assert 1 <= height <= 1024
    assert 1 <= width <= 1024
    for mean, std in zip(preprocess.mean, preprocess.std, strict=True):
        assert math.isfinite((0 - mean) / std)
        assert math.isfinite((1 - mean) / std)
