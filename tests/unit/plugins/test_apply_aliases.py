"""Runs with claims that hold no files of their own."""

from __future__ import annotations

from typing import Any

import pytest
from unit.plugins.fake_api import FakeApi, failure
from unit.plugins.test_apply_converge import (
    CLAIMS,
    CONFIG,
    IDENTITY,
    OWNER,
    PRUNE,
    config,
    refusal,
    run,
)

from devctl.api.applied import Reason

ALIAS: dict[str, Any] = {"annotations": {"devops.yourcompany.com/alias": "true"}}


def alias(name: str, data: str = "x") -> dict[str, Any]:
    return config(name, data, kind="PersistentVolumeClaim", **ALIAS)


def test_a_claim_without_files_is_owned_and_pruned() -> None:
    api = FakeApi()
    run(api, alias("a"), alias("b"))
    assert "ownerReferences" in api.objects[f"{CLAIMS}/a"]["metadata"]

    run(api, alias("a"), prune=PRUNE)

    assert set(api.objects) == {f"{CLAIMS}/a"}


@pytest.mark.parametrize(
    ("obstacle", "reason"),
    [
        ({}, Reason.CONFLICT),
        (
            {
                "labels": IDENTITY,
                "ownerReferences": [OWNER.reference()],
                "deletionTimestamp": "2026-01-02T12:00:00Z",
            },
            Reason.TERMINATING,
        ),
    ],
)
def test_an_alias_that_cannot_be_applied_does_not_hold_up_the_rest(
    obstacle: dict[str, Any], reason: Reason
) -> None:
    api = FakeApi()
    run(api, config("old"))
    theirs = api.put(f"{CLAIMS}/a", config("a", "theirs", "PersistentVolumeClaim", **obstacle))

    error = refusal(api, alias("a"), alias("b"), config("c"), prune=PRUNE)

    assert error.reason is reason
    assert api.objects[f"{CLAIMS}/a"] == theirs
    assert set(api.objects) == {f"{CLAIMS}/a", f"{CLAIMS}/b", f"{CONFIG}/c"}


def test_an_alias_beyond_a_quota_does_not_hold_up_the_rest() -> None:
    api = FakeApi()
    api.faults = [None, None, None, failure(403, "exceeded quota: devctl-quota")]

    error = refusal(api, alias("a"), alias("b"))

    assert error.reason is Reason.QUOTA_EXCEEDED
    assert set(api.objects) == {f"{CLAIMS}/b"}
