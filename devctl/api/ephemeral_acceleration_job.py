"""An EphemeralAccelerationJob's names, annotations, phases and conditions."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING

from devctl.api.labels import owner_digest

if TYPE_CHECKING:
    from collections.abc import Mapping

GROUP = "gpu.yourdomain.io"
VERSION = "v1alpha1"
KIND = "EphemeralAccelerationJob"
PLURAL = "ephemeralaccelerationjobs"

NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)
NAME_RULE = "have at most 63 lower-case letters, digits and '-', and start and end without '-'"
"""What the CRD requires of a job's name, which is the value of a label."""

JOB = f"{GROUP}/job"
"""Label: the job that an object belongs to, by name, in the same namespace."""

APP = {"app": "gpu-job"}
"""Labels of every job's pod, by which `kubectl logs --selector` finds them."""

MADE_FROM = f"{GROUP}/made-from"
"""Annotation of a job's pod: a digest of the part of the spec that it was made from."""

WAKE = f"{GROUP}/wake"
"""Annotation of a job: a digest of why its role is to run again, as the observer sees it."""

PVC_TTL_SECONDS = f"{GROUP}/pvc-ttl-seconds"
"""Annotation of a claim: its job's pvcTTLSecondsAfterFinished, for when the job is gone."""

FINISHED_AT = f"{GROUP}/finished-at"
"""Annotation of a claim: when its job finished. The role writes it."""

JOB_UID = f"{GROUP}/job-uid"
"""Annotation of a claim: which job of that name had it last. The role writes it."""

RELEASED_AT = f"{GROUP}/released-at"
"""Annotation of a claim: when its job was first seen to be gone. The observer writes it."""

RELEASED_UID = f"{GROUP}/released-uid"
"""Annotation of a claim: which job that was. Once another one has had it, RELEASED_AT is old."""

OWNER = f"{GROUP}/owner"
"""Label of a claim: a digest of its job's spec.owner, so that nobody inherits another's files."""

OWNER_NAME = f"{GROUP}/owner-name"
"""Annotation of a claim: spec.owner itself, who alone may delete it. Admission compares names."""

MOUNT_PATH = "/artifacts"
"""Where the volume is mounted in the job's container."""


_POD = "ephemeralaccelerationjob-"


def claim_name(job: str) -> str:
    """The claim that holds a job's inputs and results."""
    return f"artifacts-{job}"


def has_claim(
    uid: str, owner: str, labels: Mapping[str, str], annotations: Mapping[str, str]
) -> bool:
    """Whether the claim of a job's name is that job's, and not of another person's earlier one.

    Jobs of releases that knew no owners have an empty `owner`, and their claims no label OWNER.

    >>> has_claim("u2", "alice", {OWNER: owner_digest("alice")}, {JOB_UID: "u1"})
    True
    >>> has_claim("u2", "alice", {}, {JOB_UID: "u1"})
    False
    """
    digest = owner_digest(owner) if owner else ""
    return annotations.get(JOB_UID) == uid or labels.get(OWNER, "") == digest


def pod_name(job: str) -> str:
    """The pod that a job runs in."""
    return f"{_POD}{job}"


def job_of_pod(pod: str) -> str:
    """The job whose pod has that name; empty if it is not a job's.

    >>> job_of_pod(pod_name("scan")), job_of_pod("lab-0")
    ('scan', '')
    """
    return pod.removeprefix(_POD) if pod.startswith(_POD) else ""


class Phase(StrEnum):
    """What a job is doing. Succeeded and Failed are final."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class Condition(StrEnum):
    """Condition types; the role writes APPLIED, the observer the others."""

    SUCCEEDED = "Succeeded"
    APPLIED = "Applied"
    POD_EXPIRED = "PodExpired"
    """True when the time to keep the finished pod is over: the role then removes it."""
    ARTIFACTS_EXPIRED = "ArtifactsExpired"
    """True when the time to keep the volume is over: the observer then deletes it."""
