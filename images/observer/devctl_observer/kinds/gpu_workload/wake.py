"""When to trigger a workload's role again: a Job is to be created, or to be removed."""

from __future__ import annotations

from collections.abc import Sequence

from lightkube.resources.batch_v1 import Job

from devctl.api.gpu_workload import ATTEMPT, is_made, is_over
from devctl_observer.control.role_controller import Cause, Known, usual_cause
from devctl_observer.judging.job_conditions import job_condition
from devctl_observer.judging.model import labels_of, meta_of
from devctl_observer.kinds.gpu_workload.model import GPUWorkload
from devctl_observer.kinds.gpu_workload.status import has_expired


def cause(item: GPUWorkload, jobs: Sequence[Job], known: Known) -> Cause:
    """Why to trigger the role; empty for no reason.

    Args:
        item: The workload, with the status that the role will see.
        jobs: Its Jobs, of all attempts.
        known: What the process knows besides.
    """
    if item.going:
        return ()
    spec = {"stopped": item.spec.stopped}
    there = [job for job in jobs if meta_of(job.metadata).deletion_timestamp is None]
    if has_expired(item) and there:
        return "expired", str(item.status.get("finishedAt", ""))
    running = [job for job in there if not _has_ended(job)]
    over = [n for job in running if is_over(n := _attempt(job), spec, item.status)]
    if is_made(spec, item.status) or over:
        numbers = [str(number) for number in sorted(over)]
        # A role that cannot create the Job yet is triggered for the usual reasons as well.
        usual = usual_cause(item, known)
        return "attempt", str(item.attempt), str(item.metadata.generation), *numbers, *usual
    return ()


def _attempt(job: Job) -> int:
    return int(labels_of(job).get(ATTEMPT, 0))


def _has_ended(job: Job) -> bool:
    return any(job_condition(job, kind) for kind in ("Complete", "Failed"))
