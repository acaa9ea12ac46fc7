"""What a Job of Kubernetes says of itself."""

from __future__ import annotations

from lightkube.models.batch_v1 import JobCondition
from lightkube.resources.batch_v1 import Job


def job_condition(job: Job, kind: str) -> JobCondition | None:
    """A condition of a Job, if it is true."""
    conditions = (job.status.conditions if job.status else None) or []
    return next((c for c in conditions if c.type == kind and c.status == "True"), None)
