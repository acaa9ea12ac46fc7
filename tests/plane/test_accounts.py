"""What devctl's own accounts cannot do, whatever RBAC lets them: config/admission/accounts.yaml."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from apply.manifests import ALIAS, SHARED
from support.asked import Request, annotate, delete, label, patch
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
    where = f"{kind.lower()}/child"
    gone, blue = delete(where, dry=True), label(where, "team=blue", dry=True)
    # To mark it takes it over.
    for tried in (label(where, MARK, dry=True), blue, gone):
        assert UNMARKED in operator.denied(SELF, tried)
    tenants.send(ADMINISTRATOR, label(where, MARK))
    assert UNMARKED in operator.denied(SELF, label(where, f"{MANAGED_BY}-", dry=True))
    operator.send(SELF, blue)
    if kind == "PersistentVolumeClaim":
        assert "holds files" in operator.denied(SELF, gone)
        tenants.send(ADMINISTRATOR, annotate(where, f"{ALIAS}=true"))
    operator.send(SELF, gone)


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
    assert UNMARKED in operator.denied(SELF, label("configmap/child", MARK))
    operator.send(SELF, label("configmap/other", MARK))


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
    for tried in (
        label(where, "team=blue"),
        annotate(where, "note=x"),
        patch(where, {"spec": {"image": "other:1"}}),
    ):
        assert said in tenants.denied(account, tried)
    for value in (f"{WAKE}=a", f"{WAKE}=b", f"{WAKE}-"):
        tenants.send(account, annotate(where, value))
    tenants.send(account, delete(where, dry=True))


def test_the_observer_stops_servers_and_changes_nothing_else(tenants: Tenants) -> None:
    tenants.create(ADMINISTRATOR, server(stopped=False), keep=True)
    said = "belongs to its user: devctl only writes its status, wakes and deletes it"

    def having(spec: Manifest | None = None, **metadata: Manifest) -> Request:
        change = {"spec": spec} if spec else {}
        return patch("devserver/box", change | {"metadata": metadata}, dry=True)

    stopped = {"stopped": True}
    why = {STOPPED_BY: "x", STOPPED_BY_MESSAGE: "y"}
    tenants.send(OBSERVER, having(stopped))
    tenants.send(OBSERVER, having(stopped, annotations=why))
    tenants.send(OBSERVER, having(annotations=why))
    for account, change in (
        (OPERATOR, having(stopped)),
        (OBSERVER, having({"stopped": False, "image": "other:1"})),
        (OBSERVER, having(stopped | {"image": "other:1"})),
        (OBSERVER, having(stopped | {"flavor": "small"})),
        (OBSERVER, having(stopped, labels={"team": "blue"})),
        (OBSERVER, having(stopped, annotations={"team": "blue"})),
        (OPERATOR, having(annotations=why)),
    ):
        assert said in tenants.denied(account, change), change
    tenants.send(ADMINISTRATOR, patch("devserver/box", {"spec": stopped}))
    assert said in tenants.denied(OBSERVER, having({"stopped": None}))


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
    tenants.send(ADMINISTRATOR, label(f"namespace/{namespace}", f"{LABEL}=alice"))
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
        for tried in (delete(f"pv/{name}", dry=True), label(f"pv/{name}", "a=b", dry=True)):
            assert "is not the volume of a team" in operator.denied(SELF, tried)
    finally:
        tenants.kubectl.api.delete("pv", name)
    files = child("PersistentVolumeClaim", name)
    files["metadata"]["labels"] = {MANAGED_BY: MANAGER, TEAM_LABEL: "vision"}
    # It stays, and roles take only what is marked like this for the namespace of all teams.
    space = {"name": SPACE, "annotations": {SHARED: "true"}}
    tenants.kubectl.api.apply(managed({"apiVersion": "v1", "kind": "Namespace", "metadata": space}))
    there = Tenants(tenants.kubectl, SPACE)
    there.create(ADMINISTRATOR, files, keep=True)
    for account in (OPERATOR, OBSERVER):
        assert "holds files" in there.denied(account, delete(f"pvc/{name}", dry=True))
    there.send(ADMINISTRATOR, delete(f"pvc/{name}"))
