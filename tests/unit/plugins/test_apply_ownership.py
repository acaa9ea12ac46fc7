"""Who owns an existing object, and what may be done with it."""

from __future__ import annotations

from typing import Any

import pytest
from apply.errors import ApplyError
from apply.manifests import Key, Kind
from apply.ownership import Owner, is_prunable, refuse_foreign, refuse_going

from devctl.api.applied import Reason

OWNER = Owner(Key(Kind("devops.yourcompany.com/v1", "DevServer"), "ada", "team"), "u1")
IDENTITY = {"managed-by": "devctl", "server": "ada"}


def thing(
    kind: str = "ConfigMap",
    labels: dict[str, str] | None = IDENTITY,
    controller: dict[str, str] | None = None,
    **metadata: Any,
) -> dict[str, Any]:
    references = [OWNER.reference() | (controller or {})]
    return {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {
            "name": "cfg",
            "namespace": "team",
            "labels": labels,
            "ownerReferences": references,
            **metadata,
        },
    }


def refuse(*things: dict[str, Any]) -> None:
    refuse_foreign(things, OWNER, IDENTITY)
    refuse_going(things, OWNER)


def refusal(*things: dict[str, Any]) -> ApplyError:
    with pytest.raises(ApplyError) as caught:
        refuse(*things)
    return caught.value


def test_an_owner_needs_all_that_names_it() -> None:
    metadata = {"name": "ada", "namespace": "team", "uid": "u1"}
    resource = {
        "apiVersion": "devops.yourcompany.com/v1",
        "kind": "DevServer",
        "metadata": metadata,
    }

    assert Owner.of(resource) == OWNER
    with pytest.raises(ApplyError, match="the owner lacks 'uid'"):
        Owner.of(resource | {"metadata": {"name": "ada", "namespace": "team"}})
    with pytest.raises(ApplyError, match="DevServer team/ada is being deleted") as caught:
        Owner.of(resource | {"metadata": metadata | {"deletionTimestamp": "now"}})
    assert caught.value.retryable


@pytest.mark.parametrize(
    "own",
    [
        thing(),
        thing(labels=None),  # someone removed the labels; the owner reference remains
        thing("PersistentVolumeClaim", ownerReferences=[]),
        thing(ownerReferences=None),  # orphaned on purpose, then adopted again
    ],
)
def test_what_is_ours_passes(own: dict[str, Any]) -> None:
    refuse(own)


@pytest.mark.parametrize(
    ("foreign", "message"),
    [
        (
            thing(controller={"kind": "Deployment", "name": "web", "uid": "u9"}),
            "team/cfg exists and belongs to Deployment team/web, not to DevServer team/ada",
        ),
        (
            thing(controller={"name": "eve", "uid": "u9"}),
            "belongs to DevServer team/eve, not to DevServer team/ada",
        ),
        (
            thing(labels={"server": "ada"}, ownerReferences=[]),
            "team/ada: it lacks the labels managed-by=devctl, server=ada",
        ),
    ],
)
def test_what_is_foreign_is_named_with_its_owner(foreign: dict[str, Any], message: str) -> None:
    error = refusal(thing(), foreign)

    assert message in str(error)
    assert error.reason is Reason.CONFLICT
    assert not error.retryable


@pytest.mark.parametrize(
    ("going", "message"),
    [
        (thing(deletionTimestamp="now"), "ConfigMap team/cfg is still being deleted"),
        (thing(controller={"uid": "u0"}), "belongs to a deleted DevServer team/ada"),
        (
            thing(controller={"uid": "u0", "apiVersion": "devops.yourcompany.com/v0"}),
            "belongs to a deleted DevServer team/ada",
        ),
    ],
)
def test_what_is_about_to_go_is_waited_for(going: dict[str, Any], message: str) -> None:
    error = refusal(going)

    assert message in str(error)
    assert error.reason is Reason.TERMINATING
    assert error.retryable


def test_a_foreign_object_outweighs_one_that_is_about_to_go() -> None:
    error = refusal(thing(deletionTimestamp="now"), thing(labels={}, ownerReferences=[]))

    assert error.reason is Reason.CONFLICT


def test_only_what_is_surely_ours_and_no_data_is_pruned() -> None:
    assert is_prunable(thing(), OWNER, IDENTITY)
    for kept in (
        thing("PersistentVolumeClaim"),
        thing(labels={"server": "ada"}),
        thing(ownerReferences=[]),
        thing(controller={"uid": "u0"}),
        thing(deletionTimestamp="now"),
    ):
        assert not is_prunable(kept, OWNER, IDENTITY)
