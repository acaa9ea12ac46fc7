"""Causes for a DevServerUser: they lose something, are suspended, and are deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.one import One
from support.servers import SMALL, DevServer, apply_flavor, wait_until

from devctl.api.devserver_user import NETWORK, namespace_of
from devctl.api.kinds import USER

if TYPE_CHECKING:
    from support.causes import Scene


def cause(scene: Scene) -> None:
    api = scene.kubectl.api
    one = One(api, USER, scene.namespace)
    shared = {"size": "1Mi", "storageClassName": "devctl-shared"}
    spec = {"username": "carol@company.com", "sharedStorage": shared}
    one.apply(**spec)
    one.wait("Ready")
    space = namespace_of(one.name)
    api.delete("networkpolicy", NETWORK, space)
    wait_until(lambda: bool(api.get("networkpolicy", NETWORK, space)), "the policy is there again")
    flavor = apply_flavor(scene.kubectl, f"{one.name}-users", resources=SMALL)
    own = {"owner": "carol@company.com", "flavor": flavor, "image": scene.image}
    server = DevServer(scene.kubectl, space, own)
    server.apply()
    one.apply(**spec, suspended=True)
    server.follow(lambda found: found["spec"].get("stopped", False), "it is stopped")
    one.delete()
    for kind, name in (("namespace", space), ("devserverflavor", flavor)):
        api.delete(kind, name)
