"""Of accounts: a server runs and its price changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.servers import SMALL, apply_flavor, small_server, wait_until

if TYPE_CHECKING:
    from support.causes import Scene


def cause(scene: Scene) -> None:
    flavor = apply_flavor(
        scene.kubectl, f"{scene.namespace}-priced", resources=SMALL, price={"perHour": 1}
    )
    spec = {"flavor": flavor}
    with small_server(scene.kubectl, scene.namespace, scene.image, **spec) as server:
        server.name = "priced"
        server.apply()
        server.wait("Ready")

        def lines() -> set[int]:
            books = server.get("usage")
            found = [line for book in books for line in book["spec"].get("lines", [])]
            return {line["perHour"] for line in found if line.get("name") == "priced"}

        wait_until(lambda: lines() == {1_000_000}, "it is accounted")
        apply_flavor(scene.kubectl, flavor, resources=SMALL, price={"perHour": 2})
        wait_until(lambda: 2_000_000 in lines(), "a new price is another line")
    scene.kubectl("delete", "devserverflavor", flavor)
