"""The shared volume of a team, on real pods of several nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from support.one import One
from support.servers import SMALL, DevServer, apply_flavor, wait_until

from devctl.api.devserver_user import namespace_of
from devctl.api.kinds import TEAM, USER
from devctl.api.teams import SPACE, claim_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl

    from devctl.local.images import Image

pytestmark = pytest.mark.usefixtures("deployed")

MEMBERS, OTHER = ("ann", "bob"), "eve"


@dataclass(frozen=True)
class Team:
    """A team with a volume and two members, and a third user who is in no team.

    Attributes:
        kubectl: The administrator's.
        name: Of the team and its flavor; users begin with it.
        image: Of servers.
    """

    kubectl: Kubectl
    name: str
    image: str

    @property
    def one(self) -> One:
        return One(self.kubectl.api, TEAM, self.name)

    def create(self) -> None:
        """Create the team, with quota for all servers of its members."""
        quota = [{"name": self.name, "pods": 4}]
        self.one.apply(flavors=quota, cohort=self.name, sharedStorage={"size": "10Mi"})

    def user(self, name: str) -> One:
        return One(self.kubectl.api, USER, f"{self.name}-{name}")

    def join(self, name: str, team: str = "") -> None:
        """Create a user, or have them join or leave the team."""
        spec = {"username": f"{self.name}-{name}@company.com", "defaultFlavor": self.name}
        self.user(name).apply(**spec, **({"team": team} if team else {}))

    def server(self, of: str) -> DevServer:
        """A user's server with the team's volume at /shared, not created yet."""
        spec = {
            "owner": f"{self.name}-{of}@company.com",
            "flavor": self.name,
            "image": self.image,
            "persistentHomeSize": "10Mi",
            "sharedVolumeClaimName": claim_name(self.name),
        }
        return DevServer(self.kubectl, namespace_of(self.user(of).name), spec)

    def sharing(self) -> list[str]:
        """The namespaces in which the volume can be mounted."""
        found = (self.one.read() or {}).get("status", {}).get("sharedStorage", {})
        return list(found.get("namespaces", []))


@pytest.fixture
def team(kubectl: Kubectl, images: dict[str, Image]) -> Iterator[Team]:
    made = Team(kubectl, f"t{uuid4().hex[:6]}x", images["base"].reference)
    apply_flavor(kubectl, made.name, resources=SMALL)
    made.create()
    for name in (*MEMBERS, OTHER):
        made.join(name, made.name if name in MEMBERS else "")
        made.user(name).wait("Ready")
    yield made
    for name in (*MEMBERS, OTHER):
        space = namespace_of(made.user(name).name)
        kubectl("-n", space, "delete", "devserver", "--all", "--timeout=90s")
        kubectl("delete", "devserveruser", made.user(name).name, "--wait=false")
        kubectl("delete", "ns", space, "--wait=false")
    kubectl("delete", "devserverteam", made.name, "--wait=false")
    kubectl("-n", SPACE, "delete", "pvc", claim_name(made.name), "--wait=false")
    kubectl("delete", "devserverflavor", made.name, "--wait=false")


def test_members_share_files_and_others_do_not(team: Team) -> None:
    wait_until(lambda: len(team.sharing()) == len(MEMBERS), "both can mount it", 120)
    ann, bob, eve = (team.server(name) for name in (*MEMBERS, OTHER))
    for server in (ann, bob):
        server.apply()
    for server in (ann, bob):
        server.wait("Ready")
    ann.run("echo ours > /shared/file")
    assert bob.run("cat /shared/file") == "ours"
    bob.run("echo both >> /shared/file")
    assert ann.run("cat /shared/file") == "ours\nboth"

    # Nothing of that name exists in the namespace of a user who is not a member.
    eve.apply()
    wait_until(
        lambda: eve.condition("Ready").get("reason") == "VolumeNotFound",
        lambda: f"the claim does not exist: {eve.status}",
    )

    # Who leaves keeps it until the server stops.
    team.join("bob")
    wait_until(lambda: len(team.sharing()) == 1, "bob has left", 120)
    assert bob.run("cat /shared/file") == "ours\nboth"
    bob.apply(stopped=True)
    claim = claim_name(team.name)
    wait_until(lambda: not bob.get("pvc", claim), "nothing is left to mount", 120)
    assert ann.run("cat /shared/file") == "ours\nboth"


def test_files_outlive_the_team(team: Team) -> None:
    wait_until(lambda: len(team.sharing()) == len(MEMBERS), "both can mount it", 120)
    ann = team.server("ann")
    ann.apply()
    ann.wait("Ready")
    ann.run("echo kept > /shared/file")
    ann.stop()
    team.one.delete()
    claim, space = claim_name(team.name), ann.namespace
    wait_until(lambda: not team.kubectl.api.get("pvc", claim, space), "the claim goes", 120)
    team.create()
    wait_until(lambda: space in team.sharing(), "it can be mounted again", 120)
    ann.start()
    assert ann.run("cat /shared/file") == "kept"
