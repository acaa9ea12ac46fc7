"""What the container runtime is to do for a claim, as a CDI specification. Pure.

https://github.com/cncf-tags/container-device-interface/blob/main/SPEC.md
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from devctl.api.node_cache import IN_PODS, ROOT
from devctl_dra_plugin.messages import PreparedDevice
from devctl_dra_plugin.names import CDI_KIND, device_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from devctl_dra_plugin.planning import Given, Preparation, Shared

_VERSION = "0.6.0"
_SHARED = ("/dev/nvidiactl", "/dev/nvidia-uvm")
"""What every container with a real GPU needs beside it: they give access to no GPU."""
_READ_ONLY = ("ro", "rbind", "nosuid", "nodev")
_PREFIX, _SUFFIX = f"{CDI_KIND.replace('/', '-')}_", ".json"


def file_name(uid: str) -> str:
    """The name of a claim's specification.

    >>> file_name("1-2")
    'canhazgpu.com-gpu_1-2.json'
    """
    return f"{_PREFIX}{uid}{_SUFFIX}"


def uid_of(name: str) -> str | None:
    """The claim whose specification a file has; None if it is another driver's, or none."""
    if name.startswith(_PREFIX) and name.endswith(_SUFFIX):
        return name.removeprefix(_PREFIX).removesuffix(_SUFFIX)
    return None


def specification(claim: Preparation) -> dict[str, Any]:
    """A claim's specification: a device for each request, and one for each GPU in it.

    Of devices that set the same variable, the last one wins, so that lists are set once for a
    request. A container that uses several requests has its GPUs in variables of their own.
    """
    devices = []
    shared = {each.request: each for each in claim.shared}
    for request, given in _by_request(claim).items():
        whole = _with_cache(_edits(given), shared.get(request))
        devices.append({"name": _request_id(claim, request), "containerEdits": whole})
        for each in given:
            edits: dict[str, Any] = {"env": [f"CANHAZGPU_GPU_{each.index}={each.uuid}"]}
            if each.minor is not None:
                edits["deviceNodes"] = [{"path": f"/dev/nvidia{each.minor}"}]
            devices.append({"name": _gpu_id(claim, each), "containerEdits": edits})
    return {"cdiVersion": _VERSION, "kind": CDI_KIND, "devices": devices}


def prepared_devices(claim: Preparation, node: str) -> tuple[PreparedDevice, ...]:
    """What the kubelet is told: which containers get which devices of the specification."""
    return tuple(
        PreparedDevice(
            requests=(request,),
            pool=node,
            device=device_name(each.index),
            cdi=tuple(
                f"{CDI_KIND}={name}"
                for name in [
                    *([_request_id(claim, request)] if each is given[0] else []),
                    _gpu_id(claim, each),
                ]
            ),
        )
        for request, given in _by_request(claim).items()
        for each in given
    )


def _by_request(claim: Preparation) -> dict[str, list[Given]]:
    found: dict[str, list[Given]] = {}
    for each in sorted(claim.given, key=lambda each: each.index):
        found.setdefault(each.request, []).append(each)
    return found


def _edits(given: Sequence[Given]) -> dict[str, Any]:
    """A request's variables, and what its real GPUs share."""
    uuids = _joined(each.uuid for each in given)
    made_up = _joined(each.uuid for each in given if each.minor is None)
    env = [
        # NVIDIA's container runtime adds the driver's libraries and tools for these.
        f"NVIDIA_VISIBLE_DEVICES={uuids}",
        f"CANHAZGPU_DEVICES={_joined(str(each.index) for each in given)}",
    ]
    if made_up:
        # As the simulated GPUs of images/fake-gpu-plugin say it.
        return {"env": [*env, f"DEVCTL_FAKE_GPUS={made_up}"]}
    return {"env": env, "deviceNodes": [{"path": path} for path in _SHARED]}


def _with_cache(edits: dict[str, Any], shared: Shared | None) -> dict[str, Any]:
    """The same, with what a request's containers see of the cache."""
    if shared is None:
        return edits
    # The hub's library then asks nobody whether there is a newer revision.
    offline = ["HF_HUB_OFFLINE=1"] if shared.is_offline else []
    mounts = [
        {
            "hostPath": f"{ROOT}/{path}",
            "containerPath": f"{IN_PODS}/{path}",
            "options": [*_READ_ONLY],
        }
        for path in shared.paths
    ]
    return edits | {"env": [*edits["env"], *offline], "mounts": mounts}


def _joined(words: Iterable[str]) -> str:
    return ",".join(words)


def _request_id(claim: Preparation, request: str) -> str:
    return f"{claim.uid}-{request}"


def _gpu_id(claim: Preparation, given: Given) -> str:
    return f"{claim.uid}-{given.request}.{given.index}"
