"""Of idleness: a node's agent reports, an idle server is stopped, and it is started again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.idle import Agents, is_stopped, node_of
from support.servers import small_server, wait_until

from devctl.api.labels import STOPPED_BY

if TYPE_CHECKING:
    from support.causes import Scene


def cause(scene: Scene) -> None:
    life = {"idleTimeout": "60s", "autoShutdown": True}
    image = scene.image
    with small_server(scene.kubectl, scene.namespace, image, lifecycle=life) as server:
        server.name = "idle"
        server.apply()
        server.wait("Ready")
        agents = Agents(scene.kubectl.api)
        agents.quiet(server)
        agents.report_until(lambda: is_stopped(server), "it is stopped", node_of(server))
        server.follow(lambda found: found["status"]["phase"] == "Stopped", "its pod is gone")
        start = {"spec": {"stopped": False}}
        scene.kubectl.api.patch("devserver", server.name, start, server.namespace)

        def notes() -> dict[str, str]:
            found: dict[str, str] = server.get("devserver", server.name)[0]["metadata"].get(
                "annotations", {}
            )
            return found

        wait_until(lambda: STOPPED_BY not in notes(), "why it was stopped is history")
