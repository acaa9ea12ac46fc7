"""Of a server: from a missing flavor to the end of its time, with every change on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.servers import SMALL, TWO_RANKS, apply_flavor, small_server, wait_until

if TYPE_CHECKING:
    from support.causes import Scene

DAY = 86400


def cause(scene: Scene) -> None:
    kubectl, clocks = scene.kubectl, scene.clocks
    with small_server(kubectl, scene.namespace, scene.image) as server:
        kubectl.api.delete("devserverflavor", server.namespace)
        server.apply(lifecycle={"timeToLive": "1d"})
        server.wait("Applied", "False")
        apply_flavor(kubectl, server.namespace, resources=SMALL)
        server.wait("Ready")
        server.apply(persistentHomeSize="20Mi", **TWO_RANKS)
        server.wait("Applied")
        server.stop()
        clocks(DAY, DAY)
        wait_until(lambda: server.condition("Expiring")["reason"] == "Soon", "notice is given")
        clocks(2 * DAY, 2 * DAY)
        wait_until(lambda: not server.get("devserver", server.name), "its time is over")
        clocks(0, 0)
