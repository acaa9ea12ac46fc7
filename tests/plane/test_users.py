"""DevServerUsers, from onboarding to the end, as administrators and the users themselves see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from support.asked import delete, get, label, patch
from support.one import One
from support.servers import SMALL, DevServer, apply_flavor, wait_until
from support.tenants import CLAIM, Tenants, server

from devctl.api.devserver_user import (
    AUTOMATION,
    LIMITS,
    NETWORK,
    QUOTA,
    namespace_of,
    shared_claim_name,
)
from devctl.api.kinds import USER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl

pytestmark = pytest.mark.usefixtures("deployed", "enforced")


@dataclass(frozen=True)
class Person:
    """A user, as their administrator has them.

    Attributes:
        one: The DevServerUser.
        space: What the API server says to requests in their namespace.
        flavor: A flavor of small servers.
    """

    one: One
    space: Tenants
    flavor: str

    @property
    def username(self) -> str:
        return f"{self.one.name}@company.com"

    @property
    def automation(self) -> str:
        return f"system:serviceaccount:{self.space.namespace}:{AUTOMATION}"

    def apply(self, **spec: Any) -> None:
        self.one.apply(**{"username": self.username} | spec)

    def child(self, kind: str, name: str) -> Any:
        return self.one.api.get(kind, name, self.space.namespace)

    def create(self, name: str, user: str = "", **spec: Any) -> None:
        """Create a server as the user does."""
        made = server(name, **{"owner": self.username, "image": "any:1", "stopped": False} | spec)
        self.space.create(user or self.username, made, keep=True)

    def server(self, name: str) -> DevServer:
        """A server of theirs, as the administrator looks at it."""
        own = {"owner": self.username, "flavor": self.flavor, "image": "any:1"}
        return DevServer(self.space.kubectl, self.space.namespace, own, name)


@pytest.fixture
def person(kubectl: Kubectl, namespace: str) -> Iterator[Person]:
    found = Person(
        One(kubectl.api, USER, namespace),
        Tenants(kubectl, namespace_of(namespace)),
        apply_flavor(kubectl, f"{namespace}-flavor", resources=SMALL),
    )
    yield found
    for kind, name in (
        (f"{USER.plural}.{USER.group}", found.one.name),
        ("namespace", found.space.namespace),
        ("devserverflavor", found.flavor),
    ):
        kubectl.api.delete(kind, name)


def test_a_user_works_in_their_namespace_and_nowhere_else(person: Person, namespace: str) -> None:
    person.apply(defaultFlavor=person.flavor)
    person.one.wait("Ready")
    person.create("lab")
    # Who names no flavor gets the user's own.
    person.server("lab").wait("Ready")
    assert person.server("lab").get("devserver", "lab")[0]["spec"]["flavor"] == person.flavor
    elsewhere = Tenants(person.space.kubectl, namespace)
    assert "forbidden" in elsewhere.refused(person.username, server(owner=person.username))
    assert "forbidden" in person.space.denied(person.username, get("secrets"))


def test_automation_acts_for_its_user_only(person: Person) -> None:
    person.apply(defaultFlavor=person.flavor)
    person.one.wait("Ready")
    person.create("lab", person.automation)
    person.server("lab").wait("Ready")
    someone = server("other", owner="bob@company.com")
    assert "is not you" in person.space.refused(person.automation, someone)


def test_a_quota_holds_and_says_what_is_short(person: Person) -> None:
    person.apply(defaultFlavor=person.flavor, quota={"servers": 1, "cpu": "1"})
    person.one.wait("Ready")
    person.create("lab")
    refusal = person.space.refused(person.username, server("second", owner=person.username))
    assert f"exceeded quota: {QUOTA}" in refusal
    assert "count/devservers" in refusal


def test_a_suspended_users_servers_stop_and_none_starts(person: Person) -> None:
    person.apply(defaultFlavor=person.flavor)
    person.one.wait("Ready")
    person.create("lab")
    lab = person.server("lab")
    lab.wait("Ready")
    person.apply(defaultFlavor=person.flavor, suspended=True)
    person.one.wait("Ready", "False", "Suspended")
    lab.follow(lambda found: found.get("status", {}).get("phase") == "Stopped", "it is stopped")
    starts = patch("devserver/lab", {"spec": {"stopped": False}})
    for refusal in (
        person.space.denied(person.username, starts),
        person.space.refused(person.username, server("new", owner=person.username)),
    ):
        assert f"devctl admin user resume {person.one.name}" in refusal
    # They may still look at what they have, and delete it.
    assert "lab" in person.space.run(person.username, "get", "devservers")
    person.apply(defaultFlavor=person.flavor)
    person.one.wait("Ready")
    # It is the user who starts it again.
    assert lab.get("devserver", "lab")[0]["spec"]["stopped"]
    person.space.send(person.username, starts)
    lab.wait("Ready")


def test_deleting_a_user_takes_access_and_keeps_files(person: Person) -> None:
    shared = {"size": "1Mi", "storageClassName": "devctl-shared"}
    person.apply(sharedStorage=shared)
    person.one.wait("Ready")
    claim = shared_claim_name(person.one.name)
    assert person.child("pvc", claim)["spec"]["accessModes"] == ["ReadWriteMany"]
    person.one.delete()
    wait_until(lambda: not person.child("rolebinding", "devctl-user"), "access goes")
    # The API server goes by the bindings that it has seen.
    may = person.space.api(person.username).may
    where = ("list", "devservers", person.space.namespace)
    wait_until(lambda: not may(*where), "they have no rights")
    assert "forbidden" in person.space.denied(person.username, get("devservers"))
    for kind, name in (("pvc", claim), ("networkpolicy", NETWORK), ("resourcequota", QUOTA)):
        assert person.child(kind, name), name
    # Another person of that name gets none of it; the same one everything.
    person.apply(username="mallory@company.com")
    person.one.wait("Ready", "False", "Conflict")
    person.one.delete()
    before = person.child("pvc", claim)["metadata"]["uid"]
    person.apply(sharedStorage=shared)
    person.one.wait("Ready")
    assert person.child("pvc", claim)["metadata"]["uid"] == before


def test_what_is_lost_comes_back(person: Person) -> None:
    person.apply()
    person.one.wait("Ready")
    for kind, name in (
        ("rolebinding", "devctl-user"),
        ("serviceaccount", AUTOMATION),
        ("networkpolicy", NETWORK),
        ("resourcequota", QUOTA),
        ("limitrange", LIMITS),
    ):
        before = person.child(kind, name)["metadata"]["uid"]
        person.one.api.delete(kind, name, person.space.namespace)

        def again(kind: str = kind, name: str = name, before: str = before) -> bool:
            now = person.child(kind, name)
            return bool(now) and now["metadata"]["uid"] != before

        wait_until(again, f"{kind} {name} is there again")


def test_a_foreign_namespace_is_left_alone(person: Person) -> None:
    foreign = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": person.space.namespace},
    }
    made = person.one.api.create(foreign)
    person.apply()
    person.one.wait("Ready", "False", "Conflict")
    now = person.one.api.get("namespace", person.space.namespace)
    assert now
    assert now["metadata"]["labels"] == made["metadata"]["labels"]
    assert not person.child("rolebinding", "devctl-user")


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"username": "system:admin"}, "belong to Kubernetes"),
        ({"username": "a b"}, "username"),
        ({"groups": ["system:masters"]}, "belong to Kubernetes"),
        ({"namespace": "kube-system"}, "belongs to Kubernetes"),
        ({"namespace": "devctl-system"}, "belongs to Kubernetes"),
        ({"quota": {"gpus": -1}}, "gpus"),
        ({"quota": {"memory": "1e99"}}, "memory"),
    ],
)
def test_bad_input_is_refused(person: Person, spec: dict[str, Any], why: str) -> None:
    with pytest.raises(pytest.fail.Exception, match=why):
        person.apply(**spec)


@pytest.mark.parametrize("spec", [{"username": "other"}, {"namespace": "other"}])
def test_whose_files_they_are_cannot_change(person: Person, spec: dict[str, str]) -> None:
    person.apply()
    with pytest.raises(pytest.fail.Exception, match="keeps the namespace"):
        person.apply(**spec)


def test_a_user_writes_neither_users_nor_bounds(person: Person) -> None:
    person.apply()
    person.one.wait("Ready")
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "mine"}}
    assert "forbidden" in person.space.refused(person.username, claim | {"spec": CLAIM})
    for what in (
        delete(f"resourcequota/{QUOTA}"),
        delete(f"networkpolicy/{NETWORK}"),
        delete(f"devserveruser/{person.one.name}"),
        label(f"namespace/{person.space.namespace}", "devops.yourcompany.com/suspended-"),
    ):
        assert "forbidden" in person.space.denied(person.username, what)
