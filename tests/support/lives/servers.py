"""DevServers: ready, to be restarted, stopped, of several pods, and refused for their flavor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.lives import PRICE, Life
from support.servers import SMALL, TWO_RANKS, DevServer, apply_flavor, wait_until

from devctl.api.kinds import DEVSERVER, FLAVOR, NODE_ACTIVITY, USAGE
from devctl.api.usage import read_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.lives import Scene

ACTIVITY = f"{NODE_ACTIVITY.plural}.{NODE_ACTIVITY.group}"


class Servers(Life):
    """Those of a namespace, and what is booked and measured there."""

    kinds = (DEVSERVER, FLAVOR, NODE_ACTIVITY, USAGE)

    def __init__(self, scene: Scene) -> None:
        """Create nothing yet."""
        super().__init__(scene)
        self.ready = self._server("ready", lifecycle={"idleTimeout": "1d", "autoShutdown": True})
        self.changed = self._server("changed")
        self.stopped = self._server("stopped")
        self.pair = self._server("pair", **TWO_RANKS)
        self.refused = self._server("refused", flavor=scene.later)

    def begin(self) -> Iterator[None]:
        """All but the refused one start; one of them is stopped, and one is changed."""
        apply_flavor(self.scene.kubectl, self.scene.flavor, resources=SMALL, price=PRICE)
        for one in (self.ready, self.changed, self.stopped, self.pair, self.refused):
            one.apply()
        yield
        self.stopped.wait("Ready")
        self.stopped.apply(stopped=True)
        self.changed.wait("Ready")
        self.changed.apply(image="localhost/devctl/other:1")
        yield
        self.ready.wait("Ready")
        self.pair.wait("Ready")
        self.refused.wait("Applied", "False")
        self.changed.wait("RestartRequired")
        self._follow(self.stopped, "Stopped")
        wait_until(lambda: {"ready", "pair"} <= self._booked(), "they are accounted")
        wait_until(self._is_watched, "its node is asked about its activity")

    def go_on(self) -> Iterator[None]:
        """The stopped one starts, the pair stops, and the missing flavor is created."""
        assert self.changed.condition("RestartRequired")["reason"] == "SpecChanged"
        apply_flavor(self.scene.kubectl, self.scene.later, resources=SMALL)
        self.stopped.apply(stopped=False)
        self.pair.apply(stopped=True)
        yield
        self.stopped.wait("Ready")
        self.refused.wait("Ready")
        self._follow(self.pair, "Stopped")

    def go_back(self) -> Iterator[None]:
        """The pair starts, one is deleted, and the flavor of another has another price."""
        price = PRICE | {"perHour": "7.20"}
        apply_flavor(self.scene.kubectl, self.scene.flavor, resources=SMALL, price=price)
        self.pair.apply(stopped=False)
        self.scene.api.delete("devserver", self.ready.name, self.ready.namespace)
        yield
        self.pair.wait("Ready")
        wait_until(lambda: not self.ready.get("pod", "ready-0"), "its pod goes")
        assert self.ready.get("pvc", "home-ready-0")

    def _server(self, name: str, **spec: object) -> DevServer:
        common = {
            "owner": "alice@company.com",
            "flavor": self.scene.flavor,
            "image": self.scene.image,
            "persistentHomeSize": "10Mi",
        }
        return DevServer(self.scene.kubectl, self.scene.namespace, common | spec, name)

    def _follow(self, server: DevServer, phase: str) -> None:
        server.follow(lambda found: found.get("status", {}).get("phase") == phase, phase)

    def _booked(self) -> set[str]:
        lines = (line for book in self.ready.get("usage") for line in book["spec"].get("lines", []))
        return {key.name for key, _ in map(read_line, lines) if key.name}

    def _is_watched(self) -> bool:
        (pod,) = self.ready.get("pod", "ready-0")
        found = self.scene.api.get(ACTIVITY, pod["spec"]["nodeName"]) or {}
        uids = {each["uid"] for each in found.get("spec", {}).get("pods", [])}
        return pod["metadata"]["uid"] in uids
