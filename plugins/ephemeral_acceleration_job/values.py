"""Everything that the role `ephemeral_acceleration_job` prints and does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from devctl.api.ephemeral_acceleration_job import claim_name
from ephemeral_acceleration_job.claim import claim_values, is_rendered
from ephemeral_acceleration_job.decision import Decision, decide
from ephemeral_acceleration_job.pod import made_from, pod_of, pod_values
from ephemeral_acceleration_job.state import is_finished, is_started

if TYPE_CHECKING:
    from collections.abc import Mapping

CLAIM = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}


def ephemeral_acceleration_job_values(
    job: Mapping[str, Any], pods: list[dict[str, Any]], claims: list[dict[str, Any]]
) -> dict[str, Any]:
    """What the templates print, and what goes.

    Args:
        job: The EphemeralAccelerationJob.
        pods: The pods with its labels.
        claims: The claims with its labels.

    Returns:
        `claim` and `pod`, what their templates print, None where nothing is applied; and for the
        action `apply`, `remove` and `update_only`.
    """
    name = claim_name(job["metadata"]["name"])
    claim = next((claim for claim in claims if claim["metadata"]["name"] == name), None)
    pod = pod_of(job, pods)
    decision = decide(job, pod, claim, made_from(job))
    begun = is_finished(job) or is_started(job, pod)
    return {
        "claim": claim_values(job, claim) if is_rendered(job, pod, claim) else None,
        "pod": pod_values(job) if decision is Decision.MAKE else None,
        "remove": [pod] if decision is Decision.REMOVE else [],
        "update_only": [CLAIM | {"name": name}] if begun else [],
    }
