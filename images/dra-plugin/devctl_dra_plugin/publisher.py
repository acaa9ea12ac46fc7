"""Keeps the node's ResourceSlice as it should be."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from devctl_dra_plugin import slices
from devctl_dra_plugin.reservations import NOTHING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from devctl_dra_plugin.api import Api
    from devctl_dra_plugin.devices import Device
    from devctl_dra_plugin.reservations import View

log = logging.getLogger(__name__)

FROM_CACHE = "?resourceVersion=0"
"""Answered from the API server's memory. If that is late, a write conflicts and is done again."""


def read_node(api: Api, name: str) -> Mapping[str, Any]:
    """The node's metadata; empty while there is no such node.

    Raises:
        ApiError: It is not known.
    """
    node = api.get(f"/api/v1/nodes/{quote(name, safe='')}{FROM_CACHE}")
    metadata: Mapping[str, Any] = (node or {}).get("metadata", {})
    return metadata


def publish(
    api: Api, node: Mapping[str, Any], devices: Sequence[Device], view: View = NOTHING
) -> bool:
    """Create or update the slice if need be; returns whether it was written.

    It is read again each time: the kubelet deletes it when it starts, and half a minute after it
    has lost the plugin.

    Args:
        api: The API server.
        node: The node's metadata.
        devices: Its GPUs.
        view: Who on the host has reserved which of them.

    Raises:
        ApiError: It may not be as it should.
    """
    name = node["name"]
    path = f"{slices.PATH}/{quote(slices.slice_name(name), safe='')}"
    wanted = slices.spec(name, devices, view)
    found = api.get(path + FROM_CACHE)
    if found is None:
        if not devices:
            return False
        api.create(slices.PATH, slices.new_slice(name, node["uid"], wanted))
    else:
        changed = slices.changed_slice(found, wanted)
        if changed is None:
            return False
        api.replace(path, changed)
    bad = [each.name for each in devices if each.problem]
    taken = [f"{index} by {user}" for index, user in sorted(view.users.items())]
    log.info(
        "offered %d GPUs, %s unhealthy, %s reserved on the host",
        len(devices),
        ", ".join(bad) or "none",
        "unknown which" if view.problem else ", ".join(taken) or "none",
    )
    return True
