"""Objects of a terminating owner in other namespaces, with an in-memory API server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from apply.errors import ApplyError
from apply.finalize import finalize
from apply.manifests import Key, Kind
from apply.ownership import Owner, is_prunable, stamp
from apply.report import Report
from apply.server.client import Cluster
from apply.server.retry import Retry
from unit.plugins.fake_api import FakeApi

from devctl.api.applied import Reason
from devctl.api.labels import OWNER_UID

if TYPE_CHECKING:
    from collections.abc import Iterable

OWNER = Owner(Key(Kind("devops.yourcompany.com/v1", "CachePlan"), "ada", "team"), "u1")
CONFIG = Kind("v1", "ConfigMap")
CLAIM = Kind("v1", "PersistentVolumeClaim")


def note(namespace: str, uid: str = "u1", **metadata: Any) -> dict[str, Any]:
    told = {"name": "note", "namespace": namespace, "labels": {OWNER_UID: uid}, **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": told}


def path(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps/note"


def run(api: FakeApi, kinds: Iterable[Kind] = (CONFIG,)) -> list[str]:
    """The deleted objects."""
    report, retry = Report(), Retry(sleep=lambda _: None)
    cluster = Cluster(api.client(), OWNER.key.namespace, "devctl-operator", retry=retry)
    finalize(cluster, OWNER, kinds, report)
    return [entry["name"] for entry in report.pruned]


def test_what_has_its_uid_goes_wherever_it_is() -> None:
    api = FakeApi()
    for namespace in ("team", "other"):
        api.put(path(namespace), note(namespace))
    api.put(path("third"), note("third", uid="u2"))
    assert run(api) == ["note", "note"]
    assert list(api.objects) == [path("third")]
    assert run(api) == []


def test_what_is_going_already_is_waited_for_by_name() -> None:
    api = FakeApi()
    for number in range(5):
        going = note(f"n{number}", deletionTimestamp="2026-01-01T00:00:00Z")
        api.put(path(f"n{number}"), going)
    with pytest.raises(ApplyError, match=r"ada waits for the deletion of .* and 2 more") as raised:
        run(api)
    assert raised.value.reason is Reason.TERMINATING
    assert "ConfigMap n0/note, ConfigMap n1/note, ConfigMap n2/note" in str(raised.value)
    assert not [request for request in api.requests if request.startswith("DELETE")]


def test_a_claim_goes_only_where_its_kind_is_finalized() -> None:
    manifest = {"apiVersion": "v1", "kind": CLAIM.kind, "metadata": {"name": "a"}}
    kept = stamp(manifest, OWNER, {"app": "x"})["metadata"]
    assert "ownerReferences" not in kept
    assert OWNER_UID not in kept["labels"]
    claim = stamp(manifest, OWNER, {"app": "x"}, {CLAIM})
    assert not is_prunable(claim, OWNER, {"app": "x"})
    api = FakeApi()
    api.put("/api/v1/namespaces/team/persistentvolumeclaims/a", claim)
    assert run(api) == []
    assert run(api, [CLAIM]) == ["a"]


def test_a_kind_that_is_not_served_any_more_holds_nothing_up() -> None:
    assert run(FakeApi(), [Kind("gone.example/v1", "Thing")]) == []


def test_only_finalized_kinds_may_be_in_another_namespace() -> None:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    manifest["metadata"] = {"name": "a", "namespace": "other"}
    with pytest.raises(ApplyError, match="outside the owner's namespace, team"):
        stamp(manifest, OWNER, {"app": "x"})
    metadata = stamp(manifest, OWNER, {"app": "x"}, {CONFIG})["metadata"]
    assert metadata["labels"] == {"app": "x", OWNER_UID: "u1"}
    assert "ownerReferences" not in metadata
    at_home = stamp(manifest | {"metadata": {"name": "a"}}, OWNER, {}, {CONFIG})["metadata"]
    assert (at_home["namespace"], len(at_home["ownerReferences"])) == ("team", 1)
