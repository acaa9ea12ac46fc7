"""The GPUs that a run claims, and what it sees of the node's cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apply.manifests import CREATE_ONLY

from devctl.api.vllm_run import DEVICE_CLASS, DRIVER, REQUEST, claim_name, gpus_of
from vllm_run.mounts import mounts_config
from vllm_run.plan import Plans


def claim_values(run: Mapping[str, Any], plans: Plans) -> dict[str, Any]:
    """The values for the claim's template.

    Raises:
        ApplyError: The CachePlan lacks what the run names.
    """
    spec = run["spec"]
    ids, mounts = spec.get("gpuIds"), mounts_config(spec, plans)
    return {
        "name": claim_name(str(run["metadata"]["name"])),
        # No field of its spec can change, and others write into its status.
        "annotations": {CREATE_ONLY: "true"},
        "request": REQUEST,
        "device_class": DEVICE_CLASS,
        "count": gpus_of(spec),
        "selectors": [{"cel": {"expression": selector(ids)}}] if ids else None,
        "config": [{"requests": [REQUEST], "opaque": {"driver": DRIVER, "parameters": mounts}}]
        if mounts
        else None,
    }


def selector(ids: Sequence[int]) -> str:
    """The CEL expression that selects GPUs by their numbers.

    A claim is allocated on one node, where no two GPUs have the same number: as many as there are
    numbers are exactly these. Of another driver's device, the attributes would be an error.

    >>> selector([2, 0])
    'device.driver == "canhazgpu.com" && device.attributes["canhazgpu.com"].index in [0, 2]'
    """
    numbers = ", ".join(str(int(number)) for number in sorted(ids))
    driver = f'device.driver == "{DRIVER}"'
    return f'{driver} && device.attributes["{DRIVER}"].index in [{numbers}]'
