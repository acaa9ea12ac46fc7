"""A DevServerUser at work and one who is suspended, and their DevServerTeam."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.lives import Life
from support.one import One
from support.servers import DevServer

from devctl.api.devserver_user import namespace_of
from devctl.api.kinds import TEAM, USER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.lives import Scene


class Users(Life):
    """Ann has a server in a queue of the team's; Bob is suspended."""

    kinds = (USER, TEAM)

    def __init__(self, scene: Scene) -> None:
        """Create nothing yet."""
        super().__init__(scene)
        self.team = One(scene.api, TEAM, f"{scene.mark}-team")
        (self.ann_name, ann), (self.bob_name, bob) = scene.users.items()
        self.ann, self.bob = One(scene.api, USER, ann), One(scene.api, USER, bob)
        own = {"owner": self.ann_name, "flavor": scene.flavor, "image": scene.image}
        self.desk = DevServer(
            scene.kubectl, namespace_of(ann), own | {"team": self.team.name}, "desk"
        )

    def begin(self) -> Iterator[None]:
        """The server comes once its owner has a namespace."""
        self._quota(1)
        self.ann.apply(username=self.ann_name, team=self.team.name)
        self.bob.apply(username=self.bob_name, suspended=True)
        yield
        self.ann.wait("Ready")
        self.desk.apply()
        yield
        self.bob.wait("Ready", "False", "Suspended")
        self.team.wait("Ready")
        self.desk.wait("Ready")

    def go_on(self) -> Iterator[None]:
        """The suspended one may work again, and the team gets a larger quota."""
        self.bob.apply(username=self.bob_name)
        self._quota(2)
        yield
        self.bob.wait("Ready")
        self.team.wait("Ready")

    def go_back(self) -> Iterator[None]:
        """The other one is suspended, whose server stops."""
        self.ann.apply(username=self.ann_name, team=self.team.name, suspended=True)
        yield
        self.ann.wait("Ready", "False", "Suspended")
        self.desk.follow(
            lambda found: found.get("status", {}).get("phase") == "Stopped", "it is stopped"
        )

    def _quota(self, pods: int) -> None:
        self.team.apply(flavors=[{"name": self.scene.flavor, "pods": pods}])
