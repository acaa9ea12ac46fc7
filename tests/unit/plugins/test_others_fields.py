"""Fields that are set once, and then owned by others."""

from __future__ import annotations

from typing import Any

import pytest
from apply.fields import CREATE_ONLY_FIELDS, leave_to_others

US = "devctl-operator"
Thing = dict[str, Any]


def job(paths: str = "spec.suspend", **spec: Any) -> Thing:
    metadata = {"name": "a", "annotations": {CREATE_ONLY_FIELDS: paths}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def live(held: list[str], **spec: Any) -> Thing:
    fields: Thing = {"f:spec": {f"f:{name}": {} for name in held}}
    ours = {"manager": US, "operation": "Apply", "apiVersion": "batch/v1", "fieldsV1": fields}
    return {"metadata": {"managedFields": [ours]}, "spec": spec}


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        (live(["suspend", "a"], suspend=True, a=1), {"suspend": True, "a": 2}),
        (live(["a"], suspend=False, a=1), {"a": 2}),
        (live(["a"], a=1), {"a": 2}),
        (live(["suspend"], a=1), {"a": 2}),
        ({"metadata": {}, "spec": {"suspend": True}}, {"a": 2}),
    ],
)
def test_ours_is_repeated_and_anothers_left_out(there: Thing, expected: Thing) -> None:
    wanted = job(suspend=True, a=2)
    assert leave_to_others(wanted, there, US)["spec"] == expected
    assert wanted == job(suspend=True, a=2), "the manifest itself is for others, too"


def test_without_the_annotation_nothing_changes() -> None:
    wanted = job("", suspend=True)
    assert leave_to_others(wanted, live([], suspend=False), US) is wanted


def test_several_paths_and_deep_ones() -> None:
    wanted = job("spec.a.b,spec.none.c,spec.d", a={"b": 1, "keep": 1}, d=1)
    assert leave_to_others(wanted, live([], a={"b": 2}), US)["spec"] == {"a": {"keep": 1}}
