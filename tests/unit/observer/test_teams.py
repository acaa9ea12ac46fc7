"""The status of a DevServerTeam, and when the roles of teams and users run again."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from devctl_observer.control.process import Clock, Process
from devctl_observer.control.role_controller import Known
from devctl_observer.control.standard import Seen
from devctl_observer.kinds.flavors.family import Flavors
from devctl_observer.kinds.flavors.model import FLAVOR
from devctl_observer.kinds.teams.family import Teams
from devctl_observer.kinds.teams.model import KIND as TEAM
from devctl_observer.kinds.teams.status import team_status
from devctl_observer.kinds.users.family import Users
from devctl_observer.kinds.users.model import KIND as USER
from devctl_observer.watching.children import Children
from devctl_observer.watching.store import Key
from lightkube.resources.core_v1 import PersistentVolume, PersistentVolumeClaim

from devctl.api.queues import TEAM_LABEL
from unit.observer.objects import NOW, warning

APPLIED = {"type": "Applied", "status": "True", "observedGeneration": 2, "reason": "Applied"}
REFUSED = APPLIED | {"status": "False", "reason": "Conflict", "message": "no"}


def meta(name: str) -> dict[str, Any]:
    return {"name": name, "uid": name, "generation": 2, "resourceVersion": "1"}


def team(*flavors: str, members: str = "none", shared: bool = False, **status: Any) -> Any:
    quotas = [{"name": name, "pods": 1} for name in flavors]
    spec: dict[str, Any] = {"flavors": quotas, "members": members}
    if shared:
        spec["sharedStorage"] = {"size": "1Ti", "storageClassName": "efs"}
    return TEAM.parse({"metadata": meta("vision"), "spec": spec, "status": status})


def user(name: str, of: str = "vision", *, applied: bool = True) -> Any:
    status = {"conditions": [APPLIED]} if applied else {}
    spec = {"username": f"{name}@company.com", "team": of}
    return USER.parse({"metadata": meta(name), "spec": spec, "status": status})


def flavor(name: str, cpu: str = "1", **spec: Any) -> Any:
    resources = {"requests": {"cpu": cpu}}
    return FLAVOR.parse({"metadata": meta(name), "spec": {"resources": resources} | spec})


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (team("small", conditions=[APPLIED]), ("True", "Ready", "1 flavor")),
        (team("small"), ("False", "Applying", "about to be set up")),
        (team("small", conditions=[REFUSED]), ("False", "Conflict", "no")),
        (team("small", "gone", conditions=[APPLIED]), ("False", "FlavorNotFound", "gone")),
    ],
)
def test_a_status_says_what_to_expect(item: Any, said: tuple[str, ...]) -> None:
    (ready,) = team_status(Seen(item), NOW, {"small"})["conditions"]
    assert (ready["status"], ready["reason"]) == said[:2]
    assert said[2] in ready["message"]


def claim(namespace: str, phase: str = "Bound", uid: str = "", **meta: Any) -> Any:
    labels = {TEAM_LABEL: "vision"}
    meta |= {"namespace": namespace, "name": "team-vision", "uid": uid or f"of-{namespace}"}
    spec = {"volumeName": "pv" if phase == "Bound" else None, "storageClassName": "efs"}
    return msgspec.convert(
        {"metadata": meta | {"labels": labels}, "spec": spec, "status": {"phase": phase}},
        PersistentVolumeClaim,
    )


def volume(name: str) -> Any:
    metadata = {"name": name, "uid": name, "labels": {TEAM_LABEL: "vision"}}
    return msgspec.convert({"metadata": metadata}, PersistentVolume)


@pytest.mark.parametrize(
    ("claims", "reason", "words"),
    [
        ([], "VolumePending", "`devctl-teams/team-vision` is about to be created"),
        (
            [claim("devctl-teams", "Pending")],
            "VolumePending",
            "and bind volumes immediately (no such class)",
        ),
        ([claim("devctl-teams", "Lost")], "VolumePending", "is lost: restore it"),
        ([claim("devctl-teams")], "Ready", "quota"),
    ],
)
def test_a_status_says_why_the_files_have_no_volume(
    claims: list[Any], reason: str, words: str
) -> None:
    said = warning("PersistentVolumeClaim", "team-vision", "ProvisioningFailed", "no such class")
    said.involvedObject.uid = "of-devctl-teams"
    seen = Seen(team(shared=True, conditions=[APPLIED]), (), claims, (said,))
    (ready,) = team_status(seen, NOW, ())["conditions"]
    assert ready["reason"] == reason
    assert words in ready["message"]


def test_a_status_lists_where_the_files_can_be_mounted() -> None:
    claims = [
        claim("devctl-teams"),
        claim("dev-bob"),
        claim("dev-ann"),
        claim("dev-eve", "Pending"),
    ]
    seen = Seen(team(shared=True, conditions=[APPLIED]), (), claims)
    assert team_status(seen, NOW, ())["sharedStorage"] == {
        "claimName": "team-vision",
        "namespaces": ["dev-ann", "dev-bob"],
    }
    assert "sharedStorage" not in team_status(Seen(team()), NOW, ())


class Families:
    """Flavors, users and teams, as the observer holds them."""

    def __init__(self) -> None:
        api: Any = None
        self.children = Children()
        self.children.labels[TEAM_LABEL] = False
        process = Process(self.children, api, Clock())
        self.flavors, self.users = Flavors(process), Users(process)
        self.teams = Teams(self.flavors, self.users, process)
        for each in (flavor("small"), flavor("other")):
            self.put(self.flavors, each)

    @staticmethod
    def put(family: Any, item: Any) -> None:
        family.store.put(Key("", item.metadata.name), 0, item)

    def team(self, item: Any) -> Any:
        """Why the role of a team runs again; something else each time that it has to."""
        self.put(self.teams, item)
        return self.teams.controller._cause(item, Known())  # noqa: SLF001

    def child(self, thing: Any) -> None:
        meta = thing.metadata
        self.children.stores[type(thing)].put(Key(meta.namespace or "", meta.name), 0, thing)

    def lost(self, item: Any) -> list[str]:
        """What the role of a team has yet to create."""
        return list(self.teams.controller.observe(Key("", "vision"), item).lost)

    def user(self, item: Any) -> Any:
        return self.users.controller._cause(item, Known())  # noqa: SLF001


def test_a_teams_role_runs_again_for_its_flavors_only() -> None:
    families = Families()
    before = families.team(team("small"))
    families.put(families.flavors, flavor("other", "2"))
    families.put(families.flavors, flavor("small", default=True))
    assert families.team(team("small")) == before
    causes = {before}
    for changed in (flavor("small", "2"), flavor("small", preemptible=True)):
        families.put(families.flavors, changed)
        causes.add(families.team(team("small")))
    assert len(causes) == 3


def test_a_teams_role_runs_again_for_members_with_rights_only() -> None:
    families = Families()
    alone, hidden = families.team(team(members="view")), families.team(team())
    families.put(families.users, user("ann"))
    families.put(families.users, user("eve", of="other"))
    families.put(families.users, user("new", applied=False))
    assert families.team(team()) == hidden
    assert families.team(team(members="view")) != alone


def test_a_teams_role_runs_again_for_its_volumes() -> None:
    families = Families()
    shared = team(shared=True)
    steps = [families.team(shared)]
    for change in (
        claim("devctl-teams", "Pending"),
        claim("devctl-teams"),
        user("ann"),
        claim("dev-ann", "Pending"),
        claim("dev-ann"),
        claim("dev-ann", uid="another"),
        claim("dev-ann", deletionTimestamp="2026-01-02T12:00:00Z"),
    ):
        if isinstance(change, PersistentVolumeClaim):
            families.child(change)
        else:
            families.put(families.users, change)
        steps.append(families.team(shared))
    again = [before != after for before, after in pairwise(steps)]
    assert again == [False, True, True, True, False, True, True]
    assert len(families.team(team())) == 3


def test_what_members_mount_is_missed_once_the_files_have_a_volume() -> None:
    families = Families()
    families.put(families.users, user("ann"))
    families.put(families.users, user("new", applied=False))
    shared = team(shared=True)
    assert families.lost(team()) == []
    assert families.lost(shared) == ["PersistentVolumeClaim devctl-teams/team-vision"]
    families.child(claim("devctl-teams", "Pending"))
    assert families.lost(shared) == []
    families.child(claim("devctl-teams"))
    assert families.lost(shared) == [
        "PersistentVolumeClaim dev-ann/team-vision",
        "PersistentVolume devctl-team.vision.dev-ann",
    ]
    families.child(claim("dev-ann"))
    families.child(volume("devctl-team.vision.dev-ann"))
    assert families.lost(shared) == []


def test_a_users_role_runs_again_for_the_flavors_of_the_team() -> None:
    families = Families()
    assert families.user(user("ann", of="")) == ()
    causes = [families.user(user("ann"))]
    for changed in (team("small"), team("small", "other"), team("other", "small")):
        families.put(families.teams, changed)
        causes.append(families.user(user("ann")))
    assert len(set(causes)) == 3
    assert causes[2] == causes[3]


def test_who_is_concerned_is_looked_at() -> None:
    async def changes() -> list[tuple[int, int]]:
        families = Families()
        families.put(families.users, user("ann"))
        families.put(families.users, user("eve", of="other"))
        found = []
        for family, old, new in (
            (families.teams, None, team("small")),
            (families.teams, team("small"), team("small", members="view")),
            (families.users, user("eve", of="other"), user("eve", of="third")),
        ):
            family.changed(old, new)
            found.append((len(families.teams.queue._queued), len(families.users.queue._queued)))  # noqa: SLF001
        return found

    # The team and its member; nobody else; both teams of a user who moves.
    assert asyncio.run(changes()) == [(1, 1), (1, 1), (3, 2)]
