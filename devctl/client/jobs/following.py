"""A job as it changes, until something is true of it."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from devctl.api.ephemeral_acceleration_job import Condition
from devctl.client.jobs.claim import find_claim
from devctl.client.jobs.job import Job
from devctl.client.waiting import changes
from devctl.errors import DevctlError, NotFoundError, WaitTimeoutError
from devctl.kube import resources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from devctl.client.jobs.claim import Claim
    from devctl.kube.cluster import Cluster

_WINDOW = 30.0
"""Seconds of silence after which a watch is begun anew, so that a lost connection is noticed."""
_POLL = 0.5
_PATIENCE = 10.0
"""Seconds for which a job's role may fail: some failures pass by themselves."""


def follow(cluster: Cluster, name: str, seconds: float | None = None) -> Iterator[Job]:
    """A job as it is and at each change; ends with the job's end.

    Args:
        cluster: Where it is.
        name: Its name.
        seconds: How long at most; None for as long as it takes.

    Raises:
        WaitTimeoutError: It has not ended in time.
        NotFoundError: It was deleted meanwhile.
    """
    until = None if seconds is None else time.monotonic() + seconds
    gone = f"its volume is kept for its time: `egpu artifacts {name}`"
    last: Job | None = None
    while until is None or time.monotonic() < until:
        window = _WINDOW if until is None else min(_WINDOW, until - time.monotonic())
        kind = resources.EphemeralAccelerationJob
        for found in changes(cluster, kind, name, window, gone):
            job = Job(found)
            if last and job.uid != last.uid:
                raise NotFoundError(f"`{name}` was recreated while it was waited for", gone)
            last = job
            yield job
            if job.finished:
                return
            if until is not None and time.monotonic() >= until:
                break
    state = f" ({last.phase}): {why(last)}" if last else ""
    raise WaitTimeoutError(
        f"`{name}` has not ended after {seconds:.0f} s{state}",
        f"the job keeps trying: look with `egpu get {name}`; `egpu delete {name}` cancels it",
    )


def wait_claim(
    cluster: Cluster, name: str, seconds: float, progress: Callable[[Job], None]
) -> Claim:
    """Wait until a job's volume is asked for, so that a pod can mount it.

    Raises:
        WaitTimeoutError: It is not, in time.
        DevctlError: The operator could not.
    """
    until = time.monotonic() + seconds
    failed_since: float | None = None
    while True:
        job = Job(cluster.get(resources.EphemeralAccelerationJob, name))
        with suppress(NotFoundError):
            claim = find_claim(cluster, name)
            if claim.is_of(job):
                return claim
        # Or it is one of an earlier job: on its way out, or another person's.
        progress(job)
        applied = job.condition(Condition.APPLIED)
        now = time.monotonic()
        if applied.get("status") != "False":
            failed_since = None
        elif failed_since is None:
            failed_since = now
        elif now - failed_since >= _PATIENCE:
            raise DevctlError(
                f"the volume of `{name}` cannot be made: {applied.get('message', '')}",
                f"fix that, or give the job up with `egpu delete {name}`",
            )
        if now >= until:
            raise WaitTimeoutError(
                f"`{name}` has no volume after {seconds:.0f} s",
                "see with `devctl doctor` whether the operator runs",
            )
        time.sleep(_POLL)


def why(job: Job) -> str:
    """Why a job is in its phase."""
    return f"{job.reason}: {job.message}" if job.reason else "nobody has looked at it yet"
