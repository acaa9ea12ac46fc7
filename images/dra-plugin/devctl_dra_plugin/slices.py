"""The ResourceSlice of a node: what the scheduler knows of its GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from devctl_dra_plugin.names import DRIVER, RESERVED, TAINT, UNKNOWN
from devctl_dra_plugin.reservations import NOTHING, label

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from devctl_dra_plugin.devices import Device
    from devctl_dra_plugin.reservations import View

Object = dict[str, Any]

PATH = "/apis/resource.k8s.io/v1/resourceslices"
_UNITS = ("Mi", "Gi", "Ti")


def slice_name(node: str) -> str:
    """The name of a node's slice; each node has one."""
    return f"{node}-{DRIVER}"


def spec(node: str, devices: Iterable[Device], view: View = NOTHING) -> Object:
    """What a node's slice says, but for its pool's generation.

    Args:
        node: The node's name, and its pool's.
        devices: Its GPUs.
        view: Who on the host has reserved which of them.
    """
    offered = [device_entry(each, view) for each in devices]
    pool = {"name": node, "resourceSliceCount": 1}
    return {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": offered}


def device_entry(device: Device, view: View = NOTHING) -> Object:
    """A GPU in a slice: what CEL selectors can ask for, and why nobody new is to have it."""
    attributes: Object = {
        "healthy": {"bool": not device.problem},
        "index": {"int": device.index},
        "madeUp": {"bool": device.made_up},
        "model": {"string": device.model},
        "uuid": {"string": device.uuid},
    }
    if device.numa_node is not None:
        attributes["numaNode"] = {"int": device.numa_node}
    entry: Object = {
        "name": device.name,
        "attributes": attributes,
        "capacity": {"memory": {"value": quantity(device.memory_mib)}},
    }
    if taints := _taints(device, view):
        entry["taints"] = taints
    return entry


def _taints(device: Device, view: View) -> list[Object]:
    """Not NoExecute: whether a program can go on is for its owner to say."""
    said = {TAINT: ""} if device.problem else {}
    if device.index in view.users:
        said[RESERVED] = label(view.users[device.index])
    if view.problem:
        said[UNKNOWN] = ""
    return [
        {"key": key, "effect": "NoSchedule"} | ({"value": value} if value else {})
        for key, value in said.items()
    ]


def quantity(mebibytes: int) -> str:
    """An amount as the API server writes it, so that two can be compared.

    >>> quantity(24576), quantity(81559)
    ('24Gi', '81559Mi')
    """
    unit = 0
    while mebibytes and mebibytes % 1024 == 0 and unit + 1 < len(_UNITS):
        mebibytes, unit = mebibytes // 1024, unit + 1
    return f"{mebibytes}{_UNITS[unit]}" if mebibytes else "0"


def new_slice(node: str, uid: str, wanted: Mapping[str, Any]) -> Object:
    """A slice that is to be created; it goes with its node.

    Args:
        node: The node's name.
        uid: The node's UID.
        wanted: See spec.
    """
    owner = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid, "controller": True}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": slice_name(node), "ownerReferences": [owner]},
        "spec": _of_generation(wanted, 1),
    }


def changed_slice(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> Object | None:
    """A slice as it is to be written, with the next generation; None if nothing has changed."""
    if _comparable(found["spec"]) == _comparable(wanted):
        return None
    return {**found, "spec": _of_generation(wanted, found["spec"]["pool"]["generation"] + 1)}


def _of_generation(wanted: Mapping[str, Any], generation: int) -> Object:
    return {**wanted, "pool": {**wanted["pool"], "generation": generation}}


def _comparable(found: Mapping[str, Any]) -> Object:
    """Without what the API server adds: when a device was tainted, and our own generation."""
    devices = [
        {
            **device,
            "taints": [
                {key: value for key, value in taint.items() if key != "timeAdded"}
                for taint in device.get("taints", [])
            ],
        }
        for device in found.get("devices", [])
    ]
    pool = {key: value for key, value in found["pool"].items() if key != "generation"}
    return {**found, "pool": pool, "devices": devices}
