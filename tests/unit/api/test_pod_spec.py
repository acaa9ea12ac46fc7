from __future__ import annotations

import doctest
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.api import pod_spec as module
from devctl.api.pod_spec import FIELDS, changes, pod_spec, shape

VALUES = st.text() | st.booleans() | st.dictionaries(st.text(), st.integers())
SPECS = st.dictionaries(st.sampled_from([*FIELDS, "owner", "stopped", "lifecycle"]), VALUES)


def test_its_examples_hold() -> None:
    assert doctest.testmod(module).failed == 0


@given(SPECS)
def test_what_was_made_from_a_spec_has_not_changed(spec: dict[str, object]) -> None:
    part = pod_spec(spec)
    assert pod_spec(part) == part
    assert changes(spec, part) == []
    assert set(part) <= set(FIELDS)


@given(SPECS, SPECS)
def test_changes_are_told_in_one_order_and_both_ways(
    old: dict[str, object], new: dict[str, object]
) -> None:
    there, back = changes(new, pod_spec(old)), changes(old, pod_spec(new))
    assert there == back
    assert there == [f"spec.{name}" for name in FIELDS if f"spec.{name}" in there]


def test_what_shapes_no_pod_changes_nothing() -> None:
    spec = {"image": "a", "mode": "standalone"}
    for more in (
        {"stopped": True},
        {"lifecycle": {"idleTimeout": 60}},
        {"persistentHomeSize": "1Ti"},
        {"distributed": {"worldSize": 8}},
    ):
        assert changes({**spec, **more}, spec) == []


def test_a_default_that_a_release_brings_is_no_change() -> None:
    spec = {"image": "a", "mode": "distributed", "distributed": {"worldSize": 2}, "enableSSH": True}
    assert changes(spec | {"distributed": {"worldSize": 2, "backend": "nccl"}}, spec) == []
    assert changes(spec, {name: value for name, value in spec.items() if name != "enableSSH"}) == []
    assert changes(spec | {"enableSSH": False}, {"image": "a"}) != []


def test_a_field_that_is_gone_or_new_is_a_change() -> None:
    spec = {"image": "a", "flavor": "small"}
    assert changes({"image": "a"}, spec) == ["spec.flavor"]
    assert changes(spec, {"image": "a"}) == ["spec.flavor"]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, (1, 1)),
        ({"mode": "standalone", "distributed": {"worldSize": 8}}, (1, 1)),
        ({"mode": "distributed", "distributed": {"worldSize": 1}}, (1, 1)),
        ({"mode": "distributed", "distributed": {"worldSize": 8}}, (8, 1)),
        ({"mode": "distributed", "distributed": {"worldSize": 8, "nprocsPerNode": 8}}, (1, 8)),
    ],
)
def test_the_shape_of_a_server(spec: dict[str, object], expected: tuple[int, int]) -> None:
    assert shape(spec) == expected


@pytest.mark.parametrize(
    "layout",
    [
        *(None, {}, [], 5, {"worldSize": None}, {"worldSize": "x"}, {"worldSize": 0}),
        *({"worldSize": -4}, {"worldSize": 4, "nprocsPerNode": 0}, {"worldSize": 1e99}),
        *({"worldSize": float("nan")}, {"worldSize": float("inf")}, {"worldSize": 10**7}),
    ],
)
def test_no_schema_lets_pass_what_has_no_shape(layout: Any) -> None:
    with pytest.raises(ValueError, match=r"layout|pods|invalid literal|NaN"):
        shape({"mode": "distributed", "distributed": layout})
