from __future__ import annotations

from dataclasses import replace
from typing import Any

from devctl_dra_plugin import slices
from devctl_dra_plugin.devices import Device, made_up
from devctl_dra_plugin.publisher import publish, read_node
from devctl_dra_plugin.reservations import View

from unit.dra_plugin.cluster import NODE, Memory

PATH = f"{slices.PATH}/{NODE}-canhazgpu.com"
METADATA = {"name": NODE, "uid": "node-uid"}
REAL = Device(7, "GPU-a", "NVIDIA H100 80GB HBM3", 81559, None, 7)


def test_a_gpu_says_what_can_be_asked_for() -> None:
    fake = made_up(NODE, 4)[2]
    assert slices.device_entry(fake) == {
        "name": "gpu-2",
        "attributes": {
            "healthy": {"bool": True},
            "index": {"int": 2},
            "madeUp": {"bool": True},
            "model": {"string": "made up"},
            "numaNode": {"int": 1},
            "uuid": {"string": fake.uuid},
        },
        "capacity": {"memory": {"value": "16Gi"}},
    }
    real = slices.device_entry(REAL)
    assert real["attributes"]["madeUp"] == {"bool": False}
    assert "numaNode" not in real["attributes"]
    assert real["capacity"]["memory"]["value"] == "81559Mi"


def test_an_unhealthy_gpu_is_tainted() -> None:
    entry = slices.device_entry(replace(REAL, problem="lost"))
    assert entry["taints"] == [{"key": "canhazgpu.com/unhealthy", "effect": "NoSchedule"}]
    assert entry["attributes"]["healthy"] == {"bool": False}


def test_what_others_have_reserved_is_given_to_nobody_new() -> None:
    devices = [replace(made_up(NODE, 2)[0], problem="lost"), made_up(NODE, 2)[1]]
    view = View({0: "alice", 1: "Ann Example"})
    first, second = slices.spec(NODE, devices, view)["devices"]
    assert second["taints"] == [
        {"key": "canhazgpu.com/reserved", "effect": "NoSchedule", "value": "Ann-Example"}
    ]
    assert [each["key"] for each in first["taints"]] == [
        "canhazgpu.com/unhealthy",
        "canhazgpu.com/reserved",
    ]


def test_the_slice_is_the_nodes() -> None:
    api, devices = Memory(), made_up(NODE, 2)
    assert publish(api, METADATA, devices)
    ((path, found),) = api.written
    assert path == PATH
    (owner,) = found["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("Node", "node-uid")
    assert found["spec"]["nodeName"] == found["spec"]["pool"]["name"] == NODE
    assert found["spec"]["pool"]["generation"] == found["spec"]["pool"]["resourceSliceCount"] == 1


def test_it_is_written_when_something_has_changed_only() -> None:
    api, devices = Memory(), made_up(NODE, 2)
    publish(api, METADATA, devices)
    assert not publish(api, METADATA, devices)
    devices = [replace(devices[0], problem="lost"), devices[1]]
    assert publish(api, METADATA, devices)
    stored = api.objects[PATH]["spec"]
    assert stored["pool"]["generation"] == 2
    # The API server adds when that was.
    (taint,) = stored["devices"][0]["taints"]
    taint["timeAdded"] = "2026-11-25T08:00:00Z"
    assert not publish(api, METADATA, devices)


def test_it_is_made_again_after_the_kubelet_has_deleted_it() -> None:
    api, devices = Memory(), made_up(NODE, 2)
    publish(api, METADATA, devices)
    del api.objects[PATH]
    assert publish(api, METADATA, devices)


def test_a_node_without_gpus_has_no_slice_but_one_that_lost_them_offers_none() -> None:
    api = Memory()
    assert not publish(api, METADATA, [])
    publish(api, METADATA, made_up(NODE, 1))
    assert publish(api, METADATA, [])
    assert api.objects[PATH]["spec"]["devices"] == []
    # The API server leaves an empty list out.
    del api.objects[PATH]["spec"]["devices"]
    assert not publish(api, METADATA, [])


def test_a_nodes_metadata_is_read() -> None:
    api = Memory()
    assert read_node(api, NODE) == {}
    node: dict[str, Any] = {"metadata": METADATA}
    api.objects[f"/api/v1/nodes/{NODE}"] = node
    assert read_node(api, NODE) == METADATA
