"""Causes for a LifecyclePolicy: its flavor is missing, is there, and becomes the default."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.one import One
from support.servers import SMALL, apply_flavor

from devctl.api.kinds import LIFECYCLE_POLICY

if TYPE_CHECKING:
    from support.causes import Scene


def cause(scene: Scene) -> None:
    one = One(scene.kubectl.api, LIFECYCLE_POLICY, scene.namespace)
    flavor = f"{one.name}-policy"
    one.apply(flavors=[flavor], idleTimeout={"minimum": "1h"})
    one.wait("FlavorsFound", "False")
    apply_flavor(scene.kubectl, flavor, resources=SMALL)
    one.wait("FlavorsFound")
    scene.kubectl.api.delete("devserverflavor", flavor)
    one.delete()
