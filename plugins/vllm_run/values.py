"""The labels of a run's objects, what is created, and what is removed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apply.values import Values

from devctl.api.conditions import find
from devctl.api.labels import MANAGED_BY, MANAGER
from devctl.api.vllm_run import ENDS, LABEL, Condition, pod_name, service_name
from vllm_run.checkout import program_values
from vllm_run.claim import claim_values
from vllm_run.pod import pod_values

Thing = dict[str, Any]
_ENDED = {"Succeeded", "Failed"}


def identity(run: Mapping[str, Any]) -> dict[str, str]:
    """The labels that mark an object as the run's.

    >>> identity({"metadata": {"name": "one"}})["canhazgpu.dev/vllmrun"]
    'one'
    """
    return {MANAGED_BY: MANAGER, LABEL: str(run["metadata"]["name"])}


def values(
    run: Mapping[str, Any], *, pods: list[Thing], claims: list[Thing], plans: list[Thing]
) -> Values:
    """The values for the templates, and what to remove.

    Args:
        run: The VLLMRun.
        pods: The pods with its labels.
        claims: The ResourceClaims with its labels.
        plans: The CachePlan, if there is one.

    Returns:
        `claim`, `program`, `service` and `pod`, the values for their templates: None if nothing is
        applied.

    Raises:
        ApplyError: The CachePlan lacks what the run names.
    """
    pod = _own(run, pods, pod_name(str(run["metadata"]["name"])))
    finished = is_finished(run)
    made = not finished and pod is None and not run.get("status", {}).get("startedAt")
    # Beneath a pod that has a node, another claim would be for other GPUs than the pod's.
    claimed = made or (not finished and pod is not None and not pod["spec"].get("nodeName"))
    return Values(
        {
            "claim": claim_values(run, plans) if claimed else None,
            "program": program_values(run) if not finished else None,
            "service": service_values(run) if not finished and run["spec"]["port"] else None,
            "pod": pod_values(run, plans) if made else None,
        },
        remove=removed(run, pod, [each for each in claims if _is_own(run, each)]),
    )


def service_values(run: Mapping[str, Any]) -> dict[str, Any]:
    """The values for the Service's template."""
    name = str(run["metadata"]["name"])
    port = run["spec"]["port"]
    return {"name": service_name(name), "selector": {LABEL: name}, "port": port}


def removed(run: Mapping[str, Any], pod: Thing | None, claims: Sequence[Thing]) -> list[Thing]:
    """What to remove of a finished run: its GPUs go back, its pod is kept for its output.

    The pod goes if its time is over, or if it has not ended itself.
    """
    if not is_finished(run):
        return []
    expired = find(run["status"], Condition.POD_EXPIRED).get("status") == "True"
    pods = [pod] if pod and (expired or not _has_ended(pod)) else []
    return [each for each in (*pods, *claims) if not each["metadata"].get("deletionTimestamp")]


def is_finished(run: Mapping[str, Any]) -> bool:
    """Whether the run has ended, which is final."""
    return run.get("status", {}).get("phase") in ENDS


def _has_ended(pod: Mapping[str, Any]) -> bool:
    return pod.get("status", {}).get("phase") in _ENDED


def _own(run: Mapping[str, Any], things: Sequence[Thing], name: str) -> Thing | None:
    return next((t for t in things if t["metadata"]["name"] == name and _is_own(run, t)), None)


def _is_own(run: Mapping[str, Any], thing: Mapping[str, Any]) -> bool:
    """Whether an object is this very run's, and not an earlier one's of its name."""
    owners = thing["metadata"].get("ownerReferences") or []
    return any(reference["uid"] == run["metadata"]["uid"] for reference in owners)
