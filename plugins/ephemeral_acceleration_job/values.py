"""The labels of a job's objects, and all values for its role."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apply.manifests import Key, Kind
from apply.values import Values

from devctl.api.ephemeral_acceleration_job import JOB, claim_name
from devctl.api.labels import MANAGED_BY, MANAGER
from ephemeral_acceleration_job.claim import claim_values, is_rendered, refuse_anothers
from ephemeral_acceleration_job.decision import Decision, decide
from ephemeral_acceleration_job.pod import made_from, pod_of, pod_values
from ephemeral_acceleration_job.queue import refuse_unfit
from ephemeral_acceleration_job.state import is_begun, is_going

CLAIM = Kind("v1", "PersistentVolumeClaim")


def identity(job: Mapping[str, Any]) -> dict[str, str]:
    """The labels that mark an object as the job's.

    >>> identity({"metadata": {"name": "scan"}})["gpu.yourdomain.io/job"]
    'scan'
    """
    return {MANAGED_BY: MANAGER, JOB: str(job["metadata"]["name"])}


def values(
    job: Mapping[str, Any],
    *,
    pods: list[dict[str, Any]],
    claims: list[dict[str, Any]],
    flavors: list[dict[str, Any]],
    teams: list[dict[str, Any]],
) -> Values:
    """The values for the templates, and what to remove.

    Args:
        job: The EphemeralAccelerationJob.
        pods: The pods with its labels.
        claims: The claims with its labels.
        flavors: Every DevServerFlavor; only used in a queue, as the teams.
        teams: Every DevServerTeam.

    Returns:
        `claim` and `pod`, the values for their templates: None if nothing is applied.

    Raises:
        ApplyError: The claim of that name belongs to another user, or the job's queue would never
            admit it.
    """
    name = claim_name(job["metadata"]["name"])
    claim = next((claim for claim in claims if claim["metadata"]["name"] == name), None)
    pod = pod_of(job, pods)
    decision = decide(job, pod, claim, made_from(job, flavors))
    begun = is_begun(job, pod)
    rendered = is_rendered(job, pod, claim)
    if claim and rendered and not is_going(claim):
        refuse_anothers(job, claim)
    if not begun and decision is not Decision.REMOVE:
        refuse_unfit(job, flavors, teams)
    return Values(
        {
            "claim": claim_values(job, claim) if rendered else None,
            "pod": pod_values(job, flavors) if decision is Decision.MAKE else None,
        },
        remove=[pod] if pod and decision is Decision.REMOVE else [],
        update_only=frozenset([Key(CLAIM, name, job["metadata"]["namespace"])] if begun else []),
    )
