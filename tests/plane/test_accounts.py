"""What devctl's own accounts cannot do, whatever RBAC lets them: config/admission/accounts.yaml."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from apply.manifests import ALIAS, SHARED
from support.commands import Kubectl
from support.servers import succeeds, wait_until
from support.tenants import (
    ADMINISTRATOR,
    ALICE,
    CHILDREN,
    OBSERVER,
    OPERATOR,
    Manifest,
    Tenants,
    child,
    job,
    managed,
    server,
)

from devctl.api.devserver_user import LABEL
from devctl.api.kinds import NODE_ACTIVITY
from devctl.api.labels import (
    GROUP,
    MANAGED_BY,
    MANAGER,
    STOPPED_BY,
    STOPPED_BY_MESSAGE,
    VERSION,
    WAKE,
)
from devctl.api.queues import TEAM_LABEL
from devctl.api.teams import SPACE

if TYPE_CHECKING:
    from support.plane.plane import Plane

pytestmark = pytest.mark.usefixtures("enforced")

SELF = ""
UNMARKED = f"`child` is not devctl's: it lacks the label `{MANAGED_BY}={MANAGER}`"
MARK = f"{MANAGED_BY}={MANAGER}"
DRY = "--dry-run=server"
ACCOUNTS = pytest.mark.parametrize("account", [OPERATOR, OBSERVER])


@pytest.fixture
def operator(plane: Plane, tenants: Tenants) -> Tenants:
    """The operator with its own token, where it may write every kind of child."""
    own = Kubectl(plane.kubectl.program, plane.account("devctl-operator"))
    return Tenants(own, tenants.namespace)


@pytest.mark.parametrize("kind", CHILDREN)
def test_an_account_writes_what_is_marked_and_nothing_else(
    tenants: Tenants, operator: Tenants, kind: str
) -> None:
    assert UNMARKED in operator.refused(SELF, child(kind))
    operator.create(SELF, managed(child(kind)))
    tenants.create(ADMINISTRATOR, child(kind), keep=True)
    where, label = f"{kind.lower()}/child", ("label", DRY, "--overwrite")
    # To mark it takes it over.
    for tried in ((*label, where, MARK), (*label, where, "team=blue"), ("delete", DRY, where)):
        assert UNMARKED in operator.refusal(SELF, *tried)
    tenants.run(ADMINISTRATOR, "label", where, MARK)
    assert UNMARKED in operator.refusal(SELF, *label, where, f"{MANAGED_BY}-")
    operator.run(SELF, *label, where, "team=blue")
    if kind == "PersistentVolumeClaim":
        assert "holds files" in operator.refusal(SELF, "delete", DRY, where)
        tenants.run(ADMINISTRATOR, "annotate", where, f"{ALIAS}=true")
    operator.run(SELF, "delete", DRY, where)


@pytest.mark.parametrize(
    "where", ["kube-system", "kube-public", "kube-node-lease", "devctl-system", "devctl-node-agent"]
)
def test_nothing_is_made_where_the_system_is(operator: Tenants, where: str) -> None:
    there = Tenants(operator.kubectl, where)
    said = there.refused(SELF, managed(child("ConfigMap")))
    assert f"namespace `{where}` is a system namespace: devctl writes nothing there" in said


def test_what_one_of_our_kinds_controls_gets_its_mark_back(
    tenants: Tenants, operator: Tenants
) -> None:
    tenants.create(ADMINISTRATOR, server(), keep=True)
    uid = tenants.read("devserver/box")["metadata"]["uid"]
    owner = {"apiVersion": f"{GROUP}/{VERSION}", "kind": "DevServer", "name": "box", "uid": uid}
    for name, controller in (("child", False), ("other", True)):
        owners = [owner | {"controller": controller}]
        tenants.create(ADMINISTRATOR, child("ConfigMap", name, ownerReferences=owners), keep=True)
    assert UNMARKED in operator.refusal(SELF, "label", "configmap/child", MARK)
    operator.run(SELF, "label", "configmap/other", MARK)


@ACCOUNTS
@pytest.mark.parametrize(("kind", "made"), [("devserver", server()), ("eaj", job())])
def test_what_people_write_is_theirs(
    tenants: Tenants, account: str, kind: str, made: Manifest
) -> None:
    spec = made["spec"] | {"owner": account} if kind == "devserver" else made["spec"]
    said = "belongs to its user: devctl only writes its status, wakes and deletes it"
    assert said in tenants.refused(account, managed(made | {"spec": spec}))
    tenants.create(ADMINISTRATOR, managed(made), keep=True)
    where = f"{kind}/box"
    patch = ("patch", where, "--type=merge", "-p")
    for tried in (
        ("label", where, "team=blue"),
        ("annotate", where, "note=x"),
        (*patch, '{"spec": {"image": "other:1"}}'),
    ):
        assert said in tenants.refusal(account, *tried)
    for value in (f"{WAKE}=a", f"{WAKE}=b", f"{WAKE}-"):
        tenants.run(account, "annotate", "--overwrite", where, value)
    tenants.run(account, "delete", DRY, where)


def test_the_observer_stops_servers_and_changes_nothing_else(tenants: Tenants) -> None:
    tenants.create(ADMINISTRATOR, server(stopped=False), keep=True)
    said = "belongs to its user: devctl only writes its status, wakes and deletes it"
    patch = ("patch", DRY, "devserver/box", "--type=merge", "-p")
    tenants.run(OBSERVER, *patch, '{"spec": {"stopped": true}}')
    why = {"metadata": {"annotations": {STOPPED_BY: "x", STOPPED_BY_MESSAGE: "y"}}}
    tenants.run(OBSERVER, *patch, json.dumps(why | {"spec": {"stopped": True}}))
    tenants.run(OBSERVER, *patch, json.dumps(why))
    for account, change in (
        (OPERATOR, '{"spec": {"stopped": true}}'),
        (OBSERVER, '{"spec": {"stopped": false, "image": "other:1"}}'),
        (OBSERVER, '{"spec": {"stopped": true, "image": "other:1"}}'),
        (OBSERVER, '{"spec": {"stopped": true, "flavor": "small"}}'),
        (OBSERVER, '{"spec": {"stopped": true}, "metadata": {"labels": {"team": "blue"}}}'),
        (OBSERVER, '{"spec": {"stopped": true}, "metadata": {"annotations": {"team": "blue"}}}'),
        (OPERATOR, json.dumps(why)),
    ):
        assert said in tenants.refusal(account, *patch, change), change
    tenants.run(ADMINISTRATOR, "patch", *patch[2:], '{"spec": {"stopped": true}}')
    assert said in tenants.refusal(OBSERVER, *patch, '{"spec": {"stopped": null}}')


def test_the_observer_alone_asks_for_activity(tenants: Tenants) -> None:
    name = tenants.namespace
    made = {
        "apiVersion": NODE_ACTIVITY.api_version,
        "kind": NODE_ACTIVITY.name,
        "metadata": {"name": name},
        "spec": {},
    }
    tenants.create(OBSERVER, made)
    for user in (OPERATOR, ALICE):
        assert "cannot create resource" in tenants.refused(user, made)


def test_roles_are_bound_in_the_namespaces_of_users_only(
    tenants: Tenants, operator: Tenants, namespace: str
) -> None:
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole"}
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "child"},
        "roleRef": reference | {"name": "devctl-user"},
        "subjects": [{"kind": "User", "name": ALICE, "apiGroup": reference["apiGroup"]}],
    }
    assert "in users' namespaces only" in operator.refused(SELF, managed(binding))
    tenants.kubectl("label", "namespace", namespace, f"{LABEL}=alice")
    # The API server judges by the labels that it has seen.
    wait_until(lambda: succeeds(lambda: operator.create(SELF, managed(binding))), "it may")
    # It may hand on devctl's roles for users, and no other one.
    strong = managed(binding | {"roleRef": reference | {"name": "cluster-admin"}})
    assert "attempting to grant RBAC permissions not currently held" in operator.refused(
        SELF, strong
    )


def test_events_are_about_our_kinds(tenants: Tenants) -> None:
    about = {"namespace": tenants.namespace, "name": "box"}
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "child"},
        "involvedObject": about | {"apiVersion": f"{GROUP}/{VERSION}", "kind": "DevServer"},
    }
    tenants.create(OBSERVER, event)
    pod = about | {"apiVersion": "v1", "kind": "Pod"}
    assert UNMARKED in tenants.refused(OBSERVER, event | {"involvedObject": pod})


def team_volume(claim: Manifest, **changes: Any) -> Manifest:
    """A member's volume, as the role of teams makes it; fields of its spec may differ."""
    labels = {TEAM_LABEL: "vision"}
    reference = {"namespace": "dev-ann", "name": "team-vision", "uid": "u", **claim}
    spec = {
        "accessModes": ["ReadWriteMany"],
        "capacity": {"storage": "1Mi"},
        "persistentVolumeReclaimPolicy": "Retain",
        "nfs": {"server": "192.0.2.1", "path": "/"},
        "claimRef": reference,
        **changes,
    }
    spec = {field: value for field, value in spec.items() if value is not None}
    name = f"devctl-team.vision.{reference['namespace']}"
    made = {"apiVersion": "v1", "kind": "PersistentVolume", "spec": spec}
    return managed(made | {"metadata": {"name": name, "labels": labels}})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"claimRef": None}, "is not for the claim of a member"),
        ({"persistentVolumeReclaimPolicy": "Delete"}, "must have the reclaim policy Retain"),
        ({"storageClassName": "devctl-home"}, "no storage class"),
        ({"nfs": None, "hostPath": {"path": "/etc"}}, "were not provisioned for team `vision`"),
        (
            {"nfs": None, "hostPath": {"path": "/x_devctl-teams_team-other"}},
            "were not provisioned for team `vision`",
        ),
    ],
)
def test_an_account_writes_volumes_of_teams_only(
    operator: Tenants, changes: Manifest, said: str
) -> None:
    operator.create(SELF, team_volume({}))
    folder = {"path": "/srv/pvc-1_devctl-teams_team-vision"}
    operator.create(SELF, team_volume({}, nfs=None, hostPath=folder))
    assert said in operator.refused(SELF, team_volume({}, **changes))


def test_a_volume_of_a_team_is_for_one_claim_of_a_member(operator: Tenants) -> None:
    made = team_volume({})
    for refused in (
        team_volume({"name": "home-lab-0"}),
        team_volume({"uid": None}),
        team_volume({"namespace": "devctl-system"}),
        made | {"metadata": made["metadata"] | {"name": "devctl-team.vision.dev-bob"}},
        made | {"metadata": made["metadata"] | {"name": "other"}},
    ):
        assert "is not for the claim of a member of team `vision`" in operator.refused(
            SELF, refused
        )
    unlabelled = managed(made | {"metadata": {"name": made["metadata"]["name"]}})
    assert "is not the volume of a team" in operator.refused(SELF, unlabelled)


def test_no_account_touches_the_volumes_of_others_or_deletes_files(
    tenants: Tenants, operator: Tenants, namespace: str
) -> None:
    name = f"of-{namespace}"
    others = team_volume({}) | {"metadata": {"name": name, "labels": {MANAGED_BY: MANAGER}}}
    tenants.create(ADMINISTRATOR, others, keep=True)
    try:
        for tried in (("delete", DRY, "pv", name), ("label", DRY, "pv", name, "a=b")):
            assert "is not the volume of a team" in operator.refusal(SELF, *tried)
    finally:
        tenants.kubectl("delete", "pv", name)
    files = child("PersistentVolumeClaim", name)
    files["metadata"]["labels"] = {MANAGED_BY: MANAGER, TEAM_LABEL: "vision"}
    # It stays, and roles take only what is marked like this for the namespace of all teams.
    space = {"name": SPACE, "annotations": {SHARED: "true"}}
    tenants.kubectl.api.apply(managed({"apiVersion": "v1", "kind": "Namespace", "metadata": space}))
    there = Tenants(tenants.kubectl, SPACE)
    there.create(ADMINISTRATOR, files, keep=True)
    for account in (OPERATOR, OBSERVER):
        assert "holds files" in there.refusal(account, "delete", DRY, "pvc", name)
    there.run(ADMINISTRATOR, "delete", "pvc", name)
