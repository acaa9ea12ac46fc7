"""Who may write what: the policies in config/admission, as tenants meet them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from support.asked import Request, annotate, delete, label, patch
from support.tenants import (
    ADMINISTRATOR,
    ALICE,
    BOB,
    CHILDREN,
    CLAIM,
    CONTAINER,
    OBSERVER,
    OPERATOR,
    PRIMARY,
    RESERVED,
    Manifest,
    Tenants,
    child,
    managed,
    server,
    until,
    workload,
)

from devctl.api.labels import (
    DEVSERVER,
    GROUP,
    STOPPED_BY,
    STOPPED_BY_MESSAGE,
    VERSION,
    WAKE,
)
from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from support.commands import Kubectl

pytestmark = pytest.mark.usefixtures("enforced")


# Owners.


def test_people_create_servers_of_their_own(tenants: Tenants) -> None:
    tenants.create(ALICE, server())
    said = tenants.refused(BOB, server())
    assert f"spec.owner `{ALICE}` is not you: write `{BOB}`, or have an administrator" in said
    tenants.create(ADMINISTRATOR, server())


def test_an_account_creates_servers_of_whom_it_stands_for(tenants: Tenants) -> None:
    account = f"system:serviceaccount:{tenants.namespace}:alice"
    rule = {"apiGroups": [GROUP], "resources": ["devservers"]}
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "alice"},
        "rules": [
            {**rule, "verbs": ["create"]},
            {**rule, "verbs": ["create-for-others"], "resourceNames": [ALICE]},
        ],
    }
    tenants.create(ADMINISTRATOR, role, keep=True)
    servers = f"devservers.{GROUP}"
    tenants.bind(account, to="alice", awaits=("create", servers))
    tenants.create(account, server())
    assert "is not you" in tenants.refused(account, server(owner=BOB))


def test_devctls_administrators_need_not_be_the_clusters(tenants: Tenants) -> None:
    right = ("write-reserved-metadata", f"devservers.{GROUP}")
    tenants.bind(BOB, to="devctl-administrator", kind="ClusterRole", awaits=right)
    tenants.create(BOB, server(labels={RESERVED: "x"}))
    tenants.create(BOB, child("ConfigMap", labels={DEVSERVER: "box"}))


def test_the_samples_apply_in_one_go(kubectl: Kubectl, namespace: str) -> None:
    folder = REPOSITORY / "config/samples"
    for name in yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]:
        manifest = yaml.safe_load((folder / name).read_text())
        if "namespace" in manifest["metadata"]:
            manifest["metadata"]["namespace"] = namespace
        options = ("apply", "--server-side", "--dry-run=server", "-f", "-")
        kubectl(*options, input=json.dumps(manifest))


# What is reserved on a DevServer.


@pytest.mark.parametrize(
    "key", ["ansible.sdk.operatorframework.io/reconcile-period", PRIMARY, "operator-sdk/other"]
)
def test_nobody_sets_what_the_framework_reads(tenants: Tenants, key: str) -> None:
    for user in (ADMINISTRATOR, ALICE):
        said = tenants.refused(user, server(annotations={key: "x"}))
        assert f"annotation `{key}` cannot be set on DevServers" in said
    tenants.create(ADMINISTRATOR, server(), keep=True)
    said = tenants.denied(ALICE, annotate("devserver/box", f"{key}=x"))
    assert f"annotation `{key}` cannot be set on DevServers" in said


@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_only_devctl_writes_its_metadata_of_a_server(tenants: Tenants, field: str) -> None:
    refusal = f"`{RESERVED}` is written by devctl only: `{ALICE}` cannot add, change or remove it"
    marked = server(**{field: {RESERVED: "x", "team": "blue"}})
    assert refusal in tenants.refused(ALICE, marked)
    tenants.create(ADMINISTRATOR, marked, keep=True)

    change_to = {"labels": label, "annotations": annotate}[field]
    for change in (f"{RESERVED}=y", f"{RESERVED}-", f"{GROUP}/other=x"):
        said = tenants.denied(ALICE, change_to("devserver/box", change))
        assert "is written by devctl only" in said
    for change in (f"{RESERVED}=x", "team=red", "team-"):
        tenants.send(ALICE, change_to("devserver/box", change))
    held = {"spec": {"enableSSH": False}, "metadata": {"finalizers": ["example.com/held"]}}
    tenants.send(ALICE, patch("devserver/box", held))
    tenants.send(ALICE, delete("devserver/box"))
    tenants.send(ALICE, patch("devserver/box", {"metadata": {"finalizers": None}}))


def test_a_woken_server_can_be_replaced_by_its_owners_manifest(tenants: Tenants) -> None:
    woken = {WAKE: "why"}
    tenants.create(ADMINISTRATOR, server(annotations=woken), keep=True)
    for change in (f"{WAKE}=other", f"{GROUP}/other=x"):
        said = tenants.denied(ALICE, annotate("devserver/box", change))
        assert "is written by devctl only" in said
    replaced = server(enableSSH=False)
    tenants.replace(ALICE, replaced)
    assert tenants.denied(ALICE, annotate("devserver/box", f"{WAKE}=why"))


@pytest.mark.parametrize("key", [STOPPED_BY, STOPPED_BY_MESSAGE])
def test_only_devctl_says_why_it_stopped_a_server(tenants: Tenants, key: str) -> None:
    assert "is written by devctl only" in tenants.refused(ALICE, server(annotations={key: "x"}))
    tenants.create(ADMINISTRATOR, server(annotations={key: "x"}), keep=True)
    said = tenants.denied(ALICE, annotate("devserver/box", f"{key}=y"))
    assert "is written by devctl only" in said
    tenants.replace(ALICE, server(enableSSH=False))


# What marks an object as part of a DevServer.


def owner_reference(uid: str = "00000000-0000-4000-8000-000000000000") -> list[Manifest]:
    """What makes the server `box` the owner of an object."""
    api = f"{GROUP}/{VERSION}"
    return [{"apiVersion": api, "kind": "DevServer", "name": "box", "uid": uid}]


@pytest.mark.parametrize("kind", CHILDREN)
def test_users_mark_nothing(tenants: Tenants, kind: str) -> None:
    tenants.create(ALICE, child(kind, labels={"app": "box"}, annotations={"operator-sdk/x": "y"}))
    cases: tuple[tuple[Manifest, str], ...] = (
        ({"labels": {DEVSERVER: "box"}}, f"label `{DEVSERVER}`"),
        ({"annotations": {RESERVED: "x"}}, f"annotation `{RESERVED}`"),
        ({"annotations": {PRIMARY: "a/b"}}, f"annotation `{PRIMARY}`"),
        ({"annotations": {f"{PRIMARY}-type": "x"}}, f"annotation `{PRIMARY}-type`"),
        ({"ownerReferences": owner_reference()}, "owner `DevServer/box`"),
    )
    for metadata, said in cases:
        marked = child(kind, **metadata)
        expected = f"{said} is written by devctl only: `{ALICE}` cannot add, change or remove it"
        assert expected in tenants.refused(ALICE, marked)
        for user in (ADMINISTRATOR, OPERATOR, OBSERVER):
            tenants.create(user, managed(marked))


@pytest.mark.parametrize("kind", ["ConfigMap", "PersistentVolumeClaim", "Service"])
def test_users_edit_and_delete_around_the_marks(tenants: Tenants, kind: str) -> None:
    # An owner that is not there would have the garbage collector take it away.
    tenants.create(ADMINISTRATOR, server(), keep=True)
    owners = owner_reference(tenants.read("devserver/box")["metadata"]["uid"])
    labels = {DEVSERVER: "box", "team": "blue"}
    marked = child(kind, labels=labels, annotations={RESERVED: "x"}, ownerReferences=owners)
    tenants.create(ADMINISTRATOR, marked, keep=True)
    name = f"{kind.lower()}/child"

    def having(**metadata: Any) -> Request:
        return patch(name, {"metadata": metadata})

    for change, said in (
        ({"labels": {DEVSERVER: "other"}}, f"label `{DEVSERVER}`"),
        ({"labels": {DEVSERVER: None}}, f"label `{DEVSERVER}`"),
        ({"annotations": {RESERVED: None}}, f"annotation `{RESERVED}`"),
        ({"ownerReferences": None}, "owner `DevServer/box`"),
    ):
        assert f"{said} is written by devctl only" in tenants.denied(ALICE, having(**change))
    tenants.send(ALICE, having(labels={"team": None}, annotations={"note": "mine"}))
    tenants.send(ALICE, having(finalizers=["example.com/held"]))
    # A pod would not start without a ConfigMap of devctl's.
    if kind == "ConfigMap":
        assert "is deleted by devctl only" in tenants.denied(ALICE, delete(name))
        tenants.send(ADMINISTRATOR, delete(name))
    else:
        tenants.send(ALICE, delete(name))
    tenants.send(ALICE, having(finalizers=None))


def test_an_object_with_too_many_keys_is_refused(tenants: Tenants) -> None:
    many = {f"key-{number}": "" for number in range(20_000)}
    said = "an object can have at most 1000 labels"
    for manifest in (child("ConfigMap", labels=many), server(labels=many)):
        assert said in tenants.refused(ALICE, manifest)
    few = dict(list(many.items())[:1000])
    tenants.create(ALICE, child("ConfigMap", labels=few, annotations=few))


def test_status_is_no_way_round(tenants: Tenants) -> None:
    tenants.create(ADMINISTRATOR, child("Pod"), keep=True)
    labelled = patch("pod/child", {"metadata": {"labels": {DEVSERVER: "box"}}}, sub="status")
    assert f"label `{DEVSERVER}` is written by devctl only" in tenants.denied(ALICE, labelled)
    tenants.send(ALICE, patch("pod/child", {"status": {"message": "fine"}}, sub="status"))


def templated() -> list[tuple[str, Manifest]]:
    """Workloads that put our label on pods or claims, by what they put it on."""
    marks: Manifest = {"labels": {DEVSERVER: "box"}}
    pod = {"metadata": marks, "spec": {"containers": [CONTAINER], "restartPolicy": "Never"}}
    running = workload(marks)
    deployment = {key: running[key] for key in ("replicas", "selector", "template")}
    job = {"template": pod}
    revision = {"revision": 1, "data": {"spec": {"template": pod}}}
    cron = {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": job}}
    found: list[tuple[str, str, Manifest]] = [
        ("apps/v1", "StatefulSet", {"spec": running}),
        ("apps/v1", "StatefulSet", {"spec": workload({}, marks)}),
        ("apps/v1", "StatefulSet", {"spec": workload({"annotations": {PRIMARY: "a/b"}})}),
        ("apps/v1", "Deployment", {"spec": deployment}),
        ("apps/v1", "ControllerRevision", revision),
        ("batch/v1", "Job", {"spec": job}),
        ("batch/v1", "CronJob", {"spec": cron}),
    ]
    # A Job without labels would get those of its template, which other rules refuse.
    metadata = {"name": "t", "labels": {"app": "box"}}
    return [
        (kind, {"apiVersion": version, "kind": kind, "metadata": metadata, **rest})
        for version, kind, rest in found
    ]


@pytest.mark.parametrize(("kind", "manifest"), templated())
def test_templates_are_no_way_round(tenants: Tenants, kind: str, manifest: Manifest) -> None:
    said = tenants.refused(ALICE, manifest)
    assert f"in a template is written by devctl only: `{ALICE}` cannot put it there" in said, (
        kind,
        said,
    )
    tenants.create(ADMINISTRATOR, manifest)
    tenants.create(OPERATOR, managed(manifest))


def test_an_ephemeral_volume_is_no_way_round(tenants: Tenants) -> None:
    template = {"metadata": {"labels": {DEVSERVER: "box"}}, "spec": CLAIM}
    pod = child("Pod")
    pod["spec"] = {
        "containers": [CONTAINER],
        "volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": template}}],
    }
    tenants.create(ALICE, pod, keep=True)

    def told() -> bool:
        events = tenants.kubectl.api.list("events", tenants.namespace)
        return any("is written by devctl only" in each.get("message", "") for each in events)

    until(told)
    assert tenants.names("pvc") == []


def test_users_work_with_their_own_workloads_and_with_ours(tenants: Tenants) -> None:
    own = child("StatefulSet", "own")
    own["spec"] = workload({}, {})
    ours = child("StatefulSet", "ours", labels={DEVSERVER: "box"})
    ours["spec"] = workload({"labels": {DEVSERVER: "box"}}, {"labels": {DEVSERVER: "box"}})
    tenants.create(ALICE, own, keep=True)
    tenants.create(ADMINISTRATOR, ours, keep=True)

    # The StatefulSet controller copies the marks of ours.
    def made() -> bool:
        return len(tenants.names("pods,pvc,controllerrevisions", f"{DEVSERVER}=box")) == 3

    until(made)
    for name in ("own", "ours"):
        tenants.run(ALICE, "scale", f"statefulset/{name}", "--replicas=2")
        tenants.run(ALICE, "rollout", "restart", f"statefulset/{name}")
        tenants.run(ALICE, "rollout", "status", f"statefulset/{name}", "--watch=false")
    marks = {"spec": {"template": {"metadata": {"labels": {DEVSERVER: "other"}}}}}
    for name in ("own", "ours"):
        patch = ("patch", f"statefulset/{name}", "-p", json.dumps(marks))
        assert "in a template is written by devctl only" in tenants.refusal(ALICE, *patch)


def test_orphans_lose_their_owner(tenants: Tenants) -> None:
    tenants.create(ADMINISTRATOR, server(), keep=True)
    owners = owner_reference(tenants.read("devserver/box")["metadata"]["uid"])
    orphan = child("ConfigMap", labels={DEVSERVER: "box"}, ownerReferences=owners)
    tenants.create(ADMINISTRATOR, orphan, keep=True)
    tenants.send(ALICE, delete("devserver/box", policy="Orphan"))
    until(lambda: "ownerReferences" not in tenants.read("configmap/child")["metadata"])
