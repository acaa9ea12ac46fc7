"""The differences between two pictures of a cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.upgrade_picture import Picture, differences

BEFORE = Picture(
    own={"DevServer a/lab": {"uid": "1", "spec": {"image": "i", "hooks": [{"name": "h"}]}}},
    work={
        "Pod a/lab-0": {"uid": "2", "restarts": [0]},
        "StatefulSet a/lab": {"uid": "3", "template": {"image": "i"}},
    },
    beside={"Secret a/lab": {"uid": "4", "data": {"key": "k"}}},
    labels={"Node /one": {"zone": "z"}},
    rights={"ann": {"create pods./*": "allowed"}},
)


def test_what_is_as_it_was_differs_in_nothing() -> None:
    assert differences(BEFORE, BEFORE) == []


def test_a_release_may_add_fields_with_defaults_and_objects_that_do_no_work() -> None:
    spec = {"image": "i", "hooks": [{"name": "h", "timeout": "1m"}], "new": True}
    own = {"DevServer a/lab": {"uid": "1", "spec": spec}}
    beside = BEFORE.beside | {"ConfigMap a/new": {"uid": "5"}}
    rights = {"ann": {"create pods./*": "allowed", "get pods./*": "allowed"}}
    assert differences(BEFORE, replace(BEFORE, own=own, beside=beside, rights=rights)) == []


@pytest.mark.parametrize(
    ("part", "found", "said"),
    [
        ("own", {}, ["DevServer a/lab is gone"]),
        (
            "own",
            {"DevServer a/lab": {"uid": "1", "spec": {"hooks": [{"name": "h"}]}}},
            ["DevServer a/lab.spec.image was i, and is None"],
        ),
        (
            "own",
            {"DevServer a/lab": {"uid": "1", "spec": {"image": "i", "hooks": []}}},
            ["DevServer a/lab.spec.hooks was [{'name': 'h'}], and is []"],
        ),
        (
            "work",
            BEFORE.work | {"Pod a/lab-0": {"uid": "2", "restarts": [1]}},
            ["Pod a/lab-0.restarts[0] was 0, and is 1"],
        ),
        ("work", BEFORE.work | {"Pod a/more": {"uid": "6"}}, ["Pod a/more is new"]),
        (
            "beside",
            {"Secret a/lab": {"uid": "4", "data": {"key": "other"}}},
            ["Secret a/lab.data.key was k, and is other"],
        ),
        ("labels", {"Node /one": {}}, ["Node /one.zone was z, and is None"]),
        ("rights", {"ann": {}}, ["ann.create pods./* was allowed, and is None"]),
    ],
)
def test_what_is_lost_or_changed_or_runs_in_addition_is_named(
    part: str, found: dict[str, object], said: list[str]
) -> None:
    change: Any = {part: found}
    assert differences(BEFORE, replace(BEFORE, **change)) == said


def test_a_template_may_change_where_a_restart_is_reported_to_be_needed() -> None:
    other = {"StatefulSet a/lab": {"uid": "3", "template": {"image": "j"}}}
    after = replace(BEFORE, work=BEFORE.work | other)
    assert differences(BEFORE, after) == ["StatefulSet a/lab.template.image was i, and is j"]
    reported = replace(after, outdated=frozenset(other))
    assert differences(BEFORE, reported) == []
    assert differences(reported, BEFORE) == []
