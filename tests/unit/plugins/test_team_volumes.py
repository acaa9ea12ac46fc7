"""The shared volume of a team: what the role renders, in every state of what exists."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from apply.ownership import Owner, stamp
from devserver_team.values import identity, values
from unit.plugins.templates import rendered

Thing = dict[str, Any]
CSI = {"driver": "efs.csi.aws.com", "volumeHandle": "fs-1::fsap-1"}
SHARED = {"size": "1Ti", "storageClassName": "efs"}
GOING = {"deletionTimestamp": "2026-01-02T12:00:00Z"}


def claim(namespace: str, uid: str = "", **metadata: Any) -> Thing:
    volume = "pvc-1" if namespace == "devctl-teams" else f"devctl-team.vision.{namespace}"
    metadata |= {"namespace": namespace, "name": "team-vision", "uid": uid or f"of-{namespace}"}
    requests = {"requests": {"storage": "2Ti"}}
    spec = {"storageClassName": "old", "volumeName": volume, "resources": requests}
    return {"metadata": metadata, "spec": spec}


def files_volume(uid: str = "of-devctl-teams", **source: Any) -> Thing:
    spec = {
        "accessModes": ["ReadWriteMany"],
        "capacity": {"storage": "2Ti"},
        "claimRef": {"namespace": "devctl-teams", "name": "team-vision", "uid": uid},
        "mountOptions": ["tls"],
        "persistentVolumeReclaimPolicy": "Delete",
        "storageClassName": "efs",
        "volumeMode": "Filesystem",
        **(source or {"csi": CSI}),
    }
    return {"metadata": {"name": "pvc-1"}, "spec": spec}


def alias_volume(namespace: str, uid: str = "", source: Any = None, **metadata: Any) -> Thing:
    reference = {"namespace": namespace, "name": "team-vision", "uid": uid or f"of-{namespace}"}
    metadata |= {"name": f"devctl-team.vision.{namespace}"}
    spec = {
        "accessModes": ["ReadWriteMany"],
        "capacity": {"storage": "2Ti"},
        "claimRef": reference,
        "persistentVolumeReclaimPolicy": "Retain",
        **(source or {"csi": CSI}),
    }
    return {"metadata": metadata, "spec": spec}


@dataclass
class State:
    """What exists."""

    shared: Thing | None = field(default_factory=lambda: SHARED)
    users: tuple[str, ...] = ("ann", "bob")
    files: list[Thing] = field(default_factory=lambda: [claim("devctl-teams")])
    source: list[Thing] = field(default_factory=lambda: [files_volume()])
    claims: list[Thing] = field(default_factory=list)
    volumes: list[Thing] = field(default_factory=list)

    def render(self) -> dict[tuple[str, str], Thing]:
        """The manifests by kind, and namespace or name."""
        spec = {"sharedStorage": self.shared} if self.shared else {}
        team = {"metadata": {"name": "vision"}, "spec": spec}
        applied = {"conditions": [{"type": "Applied", "status": "True"}]}
        users = [
            {
                "metadata": {"name": name},
                "spec": {"username": name, "team": "vision"},
                "status": applied,
            }
            for name in self.users
        ]
        made = values(
            team,
            kueue=[],
            flavors=[],
            users=users,
            existing=[],
            files=self.files,
            source=self.source,
            claims=[*self.files, *self.claims],
            volumes=self.volumes,
        )
        things = rendered("devserver_team", made.names)
        return {
            (thing["kind"], thing["metadata"].get("namespace", thing["metadata"]["name"])): thing
            for thing in things
        }


CLAIM, VOLUME = "PersistentVolumeClaim", "PersistentVolume"


def aliases(state: State) -> set[str]:
    """Which claims and volumes of members are rendered, such as `claim dev-ann`."""
    words = {CLAIM: "claim", VOLUME: "volume"}
    return {
        f"{words[kind]} {where.removeprefix('devctl-team.vision.')}"
        for kind, where in state.render()
        if kind in words and where != "devctl-teams"
    }


BOTH_CLAIMS = {"claim dev-ann", "claim dev-bob"}


def test_a_team_without_storage_has_none() -> None:
    assert State(shared=None).render() == {}


def test_the_files_get_a_claim_first_that_keeps_its_class_and_grows() -> None:
    new = State(files=[], source=[]).render()
    assert set(new) == {("Namespace", "devctl-teams"), (CLAIM, "devctl-teams")}
    spec = new[CLAIM, "devctl-teams"]["spec"]
    assert spec["accessModes"] == ["ReadWriteMany"]
    assert (spec["storageClassName"], spec["resources"]["requests"]["storage"]) == ("efs", "1Ti")
    spec = State().render()[CLAIM, "devctl-teams"]["spec"]
    assert (spec["storageClassName"], spec["resources"]["requests"]["storage"]) == ("old", "2Ti")


@pytest.mark.parametrize(
    "state",
    [
        State(files=[], source=[]),
        State(source=[]),
        # Bound to a claim that somebody else made in its place.
        State(source=[files_volume("another")]),
    ],
)
def test_without_a_volume_with_the_files_nobody_gets_one(state: State) -> None:
    assert aliases(state) == set()


def test_a_member_gets_a_claim_and_then_a_volume_for_exactly_that_claim() -> None:
    assert aliases(State()) == BOTH_CLAIMS
    state = State(claims=[claim("dev-ann", "u1")])
    assert aliases(state) == {*BOTH_CLAIMS, "volume dev-ann"}
    things = state.render()
    assert things[CLAIM, "dev-ann"]["spec"] == {
        "accessModes": ["ReadWriteMany"],
        "storageClassName": "",
        "selector": {"matchLabels": {"devops.yourcompany.com/devserverteam": "vision"}},
        "resources": {"requests": {"storage": "1Mi"}},
    }
    assert things[VOLUME, "devctl-team.vision.dev-ann"]["spec"] == {
        "csi": CSI,
        "accessModes": ["ReadWriteMany"],
        "capacity": {"storage": "2Ti"},
        "mountOptions": ["tls"],
        "volumeMode": "Filesystem",
        "persistentVolumeReclaimPolicy": "Retain",
        "claimRef": {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": "dev-ann",
            "name": "team-vision",
            "uid": "u1",
        },
    }


@pytest.mark.parametrize(
    "source",
    [
        {"nfs": {"server": "files", "path": "/x"}},
        {"hostPath": {"path": "/srv/x_devctl-teams_team-vision", "type": "DirectoryOrCreate"}},
        {"local": {"path": "/x"}, "nodeAffinity": {"required": {"nodeSelectorTerms": []}}},
    ],
)
def test_any_source_is_copied_with_its_nodes(source: Thing) -> None:
    state = State(source=[files_volume(**source)], claims=[claim("dev-ann")])
    spec = state.render()[VOLUME, "devctl-team.vision.dev-ann"]["spec"]
    assert source.items() <= spec.items()
    assert "csi" not in spec


def test_a_new_claim_gets_the_volume_of_the_old_one() -> None:
    state = State(users=("ann",), volumes=[alias_volume("dev-ann", "old")])
    name = "devctl-team.vision.dev-ann"
    assert state.render()[VOLUME, name]["spec"]["claimRef"]["uid"] == "old"
    state.claims = [claim("dev-ann", "new")]
    assert state.render()[VOLUME, name]["spec"]["claimRef"]["uid"] == "new"


@pytest.mark.parametrize(
    ("claims", "volumes"),
    [
        ([claim("dev-ann", **GOING)], [alias_volume("dev-ann")]),
        ([claim("dev-ann")], [alias_volume("dev-ann", **GOING)]),
        # The files have been deleted, and the team has got others.
        (
            [claim("dev-ann")],
            [alias_volume("dev-ann", source={"csi": CSI | {"volumeHandle": "x"}})],
        ),
    ],
)
def test_what_cannot_be_kept_is_given_up_as_a_whole(
    claims: list[Thing], volumes: list[Thing]
) -> None:
    assert aliases(State(claims=claims, volumes=volumes)) == {"claim dev-bob"}


def test_what_exists_stays_while_the_files_are_not_found() -> None:
    state = State(source=[], claims=[claim("dev-ann")], volumes=[alias_volume("dev-ann")])
    assert aliases(state) == {"claim dev-ann", "volume dev-ann"}
    spec = state.render()[VOLUME, "devctl-team.vision.dev-ann"]["spec"]
    assert spec["csi"] == CSI


def test_who_leaves_loses_claim_and_volume() -> None:
    spaces = ("dev-ann", "dev-bob")
    claims, volumes = [claim(s) for s in spaces], [alias_volume(s) for s in spaces]
    left = State(users=("ann",), claims=claims, volumes=volumes)
    assert aliases(left) == {"claim dev-ann", "volume dev-ann"}
    assert aliases(State(shared=None, claims=claims, volumes=volumes)) == set()


def test_only_what_holds_no_files_belongs_to_the_team() -> None:
    team = {
        "apiVersion": "devops.yourcompany.com/v1",
        "kind": "DevServerTeam",
        "metadata": {"name": "vision", "uid": "u"},
    }
    owned = {
        key: "ownerReferences" in stamp(thing, Owner.of(team), identity(team))["metadata"]
        for key, thing in State(users=("ann",), claims=[claim("dev-ann")]).render().items()
    }
    assert owned == {
        ("Namespace", "devctl-teams"): False,
        (CLAIM, "devctl-teams"): False,
        (CLAIM, "dev-ann"): True,
        (VOLUME, "devctl-team.vision.dev-ann"): True,
    }
