"""Complete runs against an in-memory API server."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from apply.converge import Goal, converge
from apply.errors import ApplyError
from apply.manifests import Key, Kind, unique
from apply.ownership import Owner, stamp
from apply.report import Report
from apply.server.client import Cluster
from apply.server.retry import Retry
from unit.plugins.fake_api import FakeApi, failure

from devctl.api.applied import Reason

OWNER = Owner(Key(Kind("devops.yourcompany.com/v1", "DevServer"), "ada", "team"), "u1")
IDENTITY = {"managed-by": "devctl", "server": "ada"}
CONFIG = "/api/v1/namespaces/team/configmaps"
SECRETS = "/api/v1/namespaces/team/secrets"
CLAIMS = "/api/v1/namespaces/team/persistentvolumeclaims"
PRUNE = frozenset({Kind("v1", "ConfigMap"), Kind("v1", "PersistentVolumeClaim")})


def config(name: str, data: str = "x", kind: str = "ConfigMap", **metadata: Any) -> dict[str, Any]:
    metadata = {"name": name, **metadata}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "data": {"value": data}}


def run(
    api: FakeApi,
    *manifests: dict[str, Any],
    prune: frozenset[Kind] = frozenset(),
    dry_run: bool = False,
    owner: Owner = OWNER,
    **goal: Any,
) -> dict[str, Any]:
    """Do a run; returns its task's result."""
    api.requests.clear()
    stamped = unique(stamp(manifest, owner, IDENTITY) for manifest in manifests)
    report = Report()
    clock = iter(range(1000))
    retry = Retry(sleep=lambda _: None, clock=lambda: next(clock) / 10)
    where = owner.key.namespace
    cluster = Cluster(api.client(), where, "devctl-operator", dry_run=dry_run, retry=retry)
    converge(cluster, Goal(owner, IDENTITY, stamped, prune, **goal), report)
    return report.result()


def writes(api: FakeApi) -> list[str]:
    return [request for request in api.requests if not request.startswith("GET")]


def refusal(api: FakeApi, *manifests: dict[str, Any], **options: Any) -> ApplyError:
    with pytest.raises(ApplyError) as caught:
        run(api, *manifests, **options)
    return caught.value


def actions(result: dict[str, Any]) -> list[str]:
    return [entry["action"] for entry in result["objects"]]


def test_it_creates_then_changes_nothing_then_configures() -> None:
    api = FakeApi()
    assert actions(run(api, config("a"), config("b"))) == ["created", "created"]

    again = run(api, config("a"), config("b"))
    assert (again["changed"], actions(again)) == (False, ["unchanged", "unchanged"])

    assert actions(run(api, config("a"), config("b", "y"))) == ["unchanged", "configured"]


def test_neighbours_are_read_once_a_kind() -> None:
    api = FakeApi()
    run(api, config("a"), config("b"), prune=PRUNE)
    run(api, config("a"), config("b"), prune=PRUNE)

    assert api.requests == [
        f"GET {CONFIG}",
        f"GET {CLAIMS}",
        f"PATCH {CONFIG}/a",
        f"PATCH {CONFIG}/b",
    ]


def test_a_first_run_has_nothing_to_prune_and_looks_for_names_alone() -> None:
    api = FakeApi()
    run(api, config("a"), config("b"), prune=PRUNE, first=True)

    assert api.requests == [
        f"GET {CONFIG}/a",
        f"GET {CONFIG}/b",
        f"PATCH {CONFIG}/a",
        f"PATCH {CONFIG}/b",
    ]


def test_a_first_run_after_one_that_was_killed_prunes_what_that_left() -> None:
    api = FakeApi()
    run(api, config("a"), config("b"), first=True)

    result = run(api, config("a"), config("c"), prune=PRUNE, first=True)
    assert [thing["name"] for thing in result["pruned"]] == ["b"]
    assert sorted(api.objects) == [f"{CONFIG}/a", f"{CONFIG}/c"]


def test_a_single_object_is_read_by_name() -> None:
    api = FakeApi()
    run(api, config("a"))

    assert api.requests == [f"GET {CONFIG}/a", f"PATCH {CONFIG}/a"]


def test_the_operators_proxy_gets_the_read_that_makes_it_watch() -> None:
    """It takes a moment until the child is in the cache."""
    api = FakeApi(host="http://localhost:1", uncached=2)
    run(api, config("a", kind="Secret"), config("b", kind="Secret"))

    assert api.requests[-4:] == [f"PATCH {SECRETS}/b", *[f"GET {SECRETS}/b"] * 3]


def test_a_process_that_does_several_runs_has_a_kind_watched_once() -> None:
    apis = [FakeApi(host=f"http://localhost:{port}") for port in (2, 2, 3)]
    for api in apis:
        run(api, config("a", kind="Secret"))

    assert [api.requests[-1].partition(" ")[0] for api in apis] == ["GET", "PATCH", "GET"]


def test_a_proxy_that_never_caches_is_not_asked_for_ever() -> None:
    api = FakeApi(host="http://localhost:4", uncached=1000)
    run(api, config("a"))

    assert api.requests.count(f"GET {CONFIG}/a") < 15


@pytest.mark.parametrize("labels", [{}, IDENTITY])
def test_a_foreign_object_stops_the_run_before_its_first_write(labels: dict[str, str]) -> None:
    api = FakeApi()
    controller = OWNER.reference() | {"kind": "Deployment", "name": "web", "uid": "u9"}
    theirs = config("b", "theirs", labels=labels, ownerReferences=[controller])
    before = api.put(f"{CONFIG}/b", theirs)

    error = refusal(api, config("a"), config("b"))

    assert error.reason is Reason.CONFLICT
    assert "belongs to Deployment team/web" in str(error)
    assert writes(api) == []
    assert api.objects == {f"{CONFIG}/b": before}


def test_what_is_no_longer_rendered_is_pruned() -> None:
    api = FakeApi()
    run(api, config("a"), config("b"), config("home", kind="PersistentVolumeClaim"))
    stranger = api.put(f"{CONFIG}/c", config("c", labels=IDENTITY))

    result = run(api, config("a"), prune=PRUNE)

    assert result["pruned"] == [{"apiVersion": "v1", "kind": "ConfigMap", "name": "b"}]
    assert result["changed"]
    assert set(api.objects) == {f"{CONFIG}/a", f"{CONFIG}/c", f"{CLAIMS}/home"}
    assert api.objects[f"{CONFIG}/c"] == stranger
    assert "ownerReferences" not in api.objects[f"{CLAIMS}/home"]["metadata"]


def test_a_late_cache_hides_nothing_from_pruning() -> None:
    """A watch whose kind was installed again is late for up to a minute."""
    api = FakeApi(late={f"{CONFIG}/b"})
    run(api, config("a"), config("b"))

    assert [thing["name"] for thing in run(api, config("a"), prune=PRUNE)["pruned"]] == ["b"]


def test_what_is_made_once_is_never_changed() -> None:
    api = FakeApi()
    once: dict[str, Any] = {"annotations": {"devops.yourcompany.com/create-only": "true"}}
    assert actions(run(api, config("key", "first", **once))) == ["created"]

    assert actions(run(api, config("key", "second", **once))) == ["unchanged"]
    assert api.objects[f"{CONFIG}/key"]["data"] == {"value": "first"}
    assert writes(api) == []


def test_of_two_who_make_it_once_the_first_wins() -> None:
    api = FakeApi()
    once: dict[str, Any] = {"annotations": {"devops.yourcompany.com/create-only": "true"}}
    theirs = stamp(config("key", "first", **once), OWNER, IDENTITY)
    api.faults = [None, lambda api: void(api.put(f"{CONFIG}/key", theirs, "devctl-operator"))]

    assert actions(run(api, config("key", "second", **once))) == ["unchanged"]
    assert api.objects[f"{CONFIG}/key"]["data"] == {"value": "first"}


@pytest.mark.parametrize("field", ["value", "other"])
def test_what_somebody_makes_after_the_look_is_not_taken(field: str) -> None:
    """Whether or not it has a field of ours, the run reads again and refuses it."""
    api = FakeApi()
    theirs = config("a", "theirs") | {"data": {field: "theirs"}}
    api.faults = [None, lambda api: void(api.put(f"{CONFIG}/a", theirs))]

    assert refusal(api, config("a")).reason is Reason.CONFLICT
    assert api.objects[f"{CONFIG}/a"]["data"] == {field: "theirs"}


def test_fields_of_another_manager_are_left_and_reported() -> None:
    api = FakeApi()
    api.put(f"{CONFIG}/a", stamp(config("a", "theirs"), OWNER, IDENTITY), "kubectl-edit")

    error = refusal(api, config("a", "ours"))

    assert error.reason is Reason.CONFLICT
    assert str(error) == "ConfigMap team/a: Apply failed with conflicts: ['kubectl-edit']"
    assert api.objects[f"{CONFIG}/a"]["data"] == {"value": "theirs"}


def test_fields_of_our_own_earlier_operation_move() -> None:
    api = FakeApi()
    run(api, config("a"))
    cause = {
        "reason": "FieldManagerConflict",
        "message": 'conflict with "devctl-operator" using v1',
    }
    api.faults = [None, failure(409, "conflicts", cause)]

    assert actions(run(api, config("a", "y"))) == ["configured"]


def test_an_object_replaced_meanwhile_is_read_again() -> None:
    api = FakeApi()
    run(api, config("a"))

    def replace(api: FakeApi) -> None:
        api.put(f"{CONFIG}/a", stamp(config("a"), OWNER, IDENTITY), "devctl-operator")

    api.faults = [None, replace]

    assert actions(run(api, config("a", "y"))) == ["configured"]
    assert len(writes(api)) == 2


def test_an_object_that_keeps_changing_is_given_up() -> None:
    api = FakeApi()
    api.faults = [None, failure(409, "changed")] * 100

    error = refusal(api, config("a"))

    assert error.reason is Reason.UNAVAILABLE
    assert error.retryable
    assert len(writes(api)) < 60


def test_a_pruned_object_that_is_gone_is_fine() -> None:
    api = FakeApi()
    run(api, config("a"))
    api.faults = [None, None, failure(404, "not found")]

    assert run(api, prune=PRUNE)["pruned"]


def made(api: FakeApi, name: str = "a") -> dict[str, Any]:
    """An object from an earlier run, as it is read."""
    run(api, config(name))
    return dict(api.objects[f"{CONFIG}/{name}"])


def test_what_was_decided_upon_is_removed_before_anything_is_applied() -> None:
    api = FakeApi()
    old = made(api)

    result = run(api, config("b"), remove=(old,))

    assert result["pruned"] == [{"apiVersion": "v1", "kind": "ConfigMap", "name": "a"}]
    assert writes(api) == [f"DELETE {CONFIG}/a", f"PATCH {CONFIG}/b"]
    assert not run(api, config("b"))["changed"]


def test_an_object_to_remove_that_is_gone_is_fine() -> None:
    api = FakeApi()
    old = made(api)
    del api.objects[f"{CONFIG}/a"]

    run(api, config("b"), remove=(old,))

    assert set(api.objects) == {f"{CONFIG}/b"}


@pytest.mark.parametrize("change", [{"resourceVersion": "7"}, {"uid": "another"}])
def test_an_object_to_remove_that_has_changed_is_left(change: dict[str, str]) -> None:
    """It is not read again: the decision may depend on what has changed."""
    api = FakeApi()
    old = made(api)
    old["metadata"] = old["metadata"] | change

    error = refusal(api, config("b"), remove=(old,))

    assert (error.reason, error.retryable) == (Reason.UNAVAILABLE, True)
    assert "ConfigMap team/a was not deleted, because it has changed meanwhile" in str(error)
    assert set(api.objects) == {f"{CONFIG}/a"}
    assert writes(api) == [f"DELETE {CONFIG}/a"]


def test_what_is_removed_is_removed_once_though_the_run_reads_again() -> None:
    api = FakeApi()
    old = made(api)
    api.faults = [None, None, failure(409, "changed")]

    result = run(api, config("b"), remove=(old,))

    assert [entry["name"] for entry in result["pruned"]] == ["a"]
    assert writes(api).count(f"DELETE {CONFIG}/a") == 1
    assert f"{CONFIG}/b" in api.objects


@pytest.mark.parametrize(
    "theirs",
    [
        config("a", labels=IDENTITY, namespace="team"),
        config("a", kind="PersistentVolumeClaim", labels=IDENTITY, namespace="team"),
        config("a", labels={}, ownerReferences=[OWNER.reference()], namespace="team"),
    ],
)
def test_only_what_is_surely_ours_and_no_data_is_removed(theirs: dict[str, Any]) -> None:
    api = FakeApi()

    error = refusal(api, config("b"), remove=(theirs,))

    assert error.reason is Reason.CONFLICT
    assert "team/a is not an object that DevServer team/ada may delete" in str(error)
    assert writes(api) == []


def test_a_conflict_is_refused_before_anything_is_removed() -> None:
    api = FakeApi()
    old = made(api)
    api.put(f"{CONFIG}/b", config("b", "theirs"))

    assert refusal(api, config("b"), remove=(old,)).reason is Reason.CONFLICT
    assert writes(api) == []


def test_what_goes_may_wait_for_what_is_removed() -> None:
    api = FakeApi()
    old = made(api)
    run(api, config("b"))
    api.objects[f"{CONFIG}/b"]["metadata"]["deletionTimestamp"] = "now"

    assert refusal(api, config("b"), remove=(old,)).reason is Reason.TERMINATING
    assert writes(api) == [f"DELETE {CONFIG}/a"]


def test_check_mode_removes_nothing() -> None:
    api = FakeApi()
    old = made(api)

    assert run(api, remove=(old,), dry_run=True)["changed"]
    assert f"{CONFIG}/a" in api.objects


def test_what_is_only_updated_is_never_made() -> None:
    api = FakeApi()
    only = frozenset({Key(Kind("v1", "ConfigMap"), "a", "team")})
    assert not run(api, config("a"), update_only=only)["changed"]
    assert api.objects == {}

    run(api, config("a"))
    assert actions(run(api, config("a", "y"), update_only=only)) == ["configured"]

    def lose(api: FakeApi) -> None:
        del api.objects[f"{CONFIG}/a"]

    api.faults = [None, lose]
    run(api, config("a", "z"), update_only=only)
    assert api.objects == {}


def test_check_mode_writes_nothing() -> None:
    api = FakeApi()
    run(api, config("a"), config("b"))
    before = dict(api.objects)

    result = run(api, config("a", "y"), config("c"), prune=PRUNE, dry_run=True)

    assert actions(result) == ["configured", "created"]
    assert [entry["name"] for entry in result["pruned"]] == ["b"]
    assert api.objects == before


EVERYWHERE = Owner(Key(Kind("devops.yourcompany.com/v1", "DevServerUser"), "ada"), "u1")
"""A cluster-scoped owner."""


def test_an_owner_without_a_namespace_has_objects_anywhere() -> None:
    api = FakeApi()
    flavor = {"apiVersion": "devops.yourcompany.com/v1", "kind": "DevServerFlavor"}
    everything = (
        config("a", namespace="one"),
        config("a", namespace="two"),
        flavor | {"metadata": {"name": "a"}},
    )
    assert actions(run(api, *everything, owner=EVERYWHERE)) == ["created"] * 3
    assert {path.replace("/apis/devops.yourcompany.com", "") for path in api.objects} == {
        "/api/v1/namespaces/one/configmaps/a",
        "/api/v1/namespaces/two/configmaps/a",
        "/v1/devserverflavors/a",
    }
    for thing in api.objects.values():
        (owner,) = thing["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"]) == ("DevServerUser", "ada")
    assert not run(api, *everything, owner=EVERYWHERE)["changed"]

    result = run(api, everything[0], owner=EVERYWHERE, prune=PRUNE)
    assert [gone["name"] for gone in result["pruned"]] == ["a"]
    assert "/api/v1/namespaces/two/configmaps/a" not in api.objects
    said = str(refusal(api, config("b"), owner=EVERYWHERE))
    assert said == "ConfigMap b needs a namespace, since its owner has none"


def test_what_another_has_in_one_of_its_namespaces_is_left_alone() -> None:
    api = FakeApi()
    api.put("/api/v1/namespaces/two/configmaps/a", config("a", namespace="two"))
    error = refusal(
        api, config("a", namespace="one"), config("a", namespace="two"), owner=EVERYWHERE
    )
    assert error.reason is Reason.CONFLICT
    assert str(error).startswith(
        "ConfigMap two/a exists and does not belong to DevServerUser ada: "
        "it lacks the labels managed-by="
    )
    assert writes(api) == []


def test_an_unknown_kind_is_asked_for() -> None:
    api = FakeApi()
    api.served["/apis/kueue.x-k8s.io/v1beta1"] = [
        {"name": "workloads/status", "kind": "Workload", "namespaced": True},
        {"name": "workloads", "kind": "Workload", "namespaced": True},
        {"name": "clusterqueues", "kind": "ClusterQueue", "namespaced": False},
    ]
    workload = config("a", kind="Workload") | {"apiVersion": "kueue.x-k8s.io/v1beta1"}

    assert actions(run(api, workload)) == ["created"]
    assert "/apis/kueue.x-k8s.io/v1beta1/namespaces/team/workloads/a" in api.objects
    said = str(refusal(api, workload | {"kind": "ClusterQueue"}))
    assert said.startswith("ClusterQueue team/a is cluster-scoped: it can have no namespace")
    assert "does not serve kind Cohort" in str(refusal(api, workload | {"kind": "Cohort"}))


def void(_: object) -> None:
    """Discard a result."""


SHARED = {"devops.yourcompany.com/shared": "true"}


def test_what_is_shared_is_of_no_owner_and_known_as_ours() -> None:
    api, others = FakeApi(), replace(OWNER, key=OWNER.key._replace(name="other"), uid="u2")
    run(api, config("tools", annotations=SHARED))
    before = dict(api.objects)

    assert run(api, config("tools", annotations=SHARED), owner=others)["changed"] is False
    assert api.objects == before
    metadata = api.objects[f"{CONFIG}/tools"]["metadata"]
    assert "ownerReferences" not in metadata
    assert metadata["labels"] == {"app.kubernetes.io/managed-by": "devctl"}


def test_somebodys_own_object_is_not_taken_for_what_is_shared() -> None:
    api = FakeApi()
    labels = {"app.kubernetes.io/managed-by": "devctl"}
    api.put(f"{CONFIG}/tools", config("tools", "theirs", labels=labels))

    with pytest.raises(ApplyError, match="shared object that DevServer team/ada may use") as raised:
        run(api, config("tools", annotations=SHARED))
    assert raised.value.reason is Reason.CONFLICT
    assert f"PATCH {CONFIG}/tools" not in api.requests


def test_one_object_beside_a_shared_one_is_read_by_name() -> None:
    """So a role needs no permission to list a kind of which it applies one object."""
    api = FakeApi()
    for _ in range(2):
        run(api, config("tools", annotations=SHARED), config("a"))

        assert f"GET {CONFIG}" not in api.requests
