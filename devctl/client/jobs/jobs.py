"""Jobs: create, look at, follow and delete them."""

from __future__ import annotations

import time
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from devctl.api.ephemeral_acceleration_job import Condition, claim_name, pod_name
from devctl.api.queues import FINALIZER
from devctl.client.events import Event
from devctl.client.homes import users
from devctl.client.jobs.claim import Claim, Cleanup, find_claim
from devctl.client.jobs.files import JobFiles
from devctl.client.jobs.job import Job, Options, check_name, job_manifest
from devctl.client.objects import NamedCollection
from devctl.client.waiting import follow, ignore, to_its_end, wait_gone
from devctl.errors import (
    AlreadyExistsError,
    BusyError,
    DevctlError,
    NotFoundError,
    WaitTimeoutError,
)
from devctl.kube import resources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Unpack

    from devctl.client.queues.waiting import Waiting
    from devctl.kube.cluster import Object

TIMEOUT = 300.0
"""Default seconds to wait for a volume, or for a deleted job to be gone."""
_POLL = 0.5
_PATIENCE = 10.0
"""Seconds that a job's role may keep failing: some failures are transient."""
_KIND = resources.EphemeralAccelerationJob


class Jobs(NamedCollection[Job]):
    """The jobs that a user may see.

    job = client.jobs.create("my-job", input_path="/artifacts/image.jpg", suspend=True)
    client.jobs.wait_claim("my-job")
    client.jobs.files.upload("my-job", Path("project"))
    client.jobs.resume(job)
    client.jobs.wait("my-job")
    """

    _kind, _item = _KIND, Job
    _noun, _see = "job", "list your jobs with `egpu list`, those of all namespaces with -A"
    _check_name = staticmethod(check_name)

    @cached_property
    def files(self) -> JobFiles:
        """The files on the volumes of jobs."""
        return JobFiles(self._cluster)

    @cached_property
    def cleanup(self) -> Cleanup:
        """Deletes expired volumes."""
        return Cleanup(self._cluster)

    def manifest(self, name: str, **options: Unpack[Options]) -> Object:
        """What `create` would create."""
        return job_manifest(name, options)

    def create(self, name: str, *, dry_run: bool = False, **options: Unpack[Options]) -> Job:
        """Create a job, or complete one that was created suspended and has not started.

        With dry_run, the API server only validates and admits it.

        Raises:
            UsageError: An option is not valid.
            AlreadyExistsError: A job of that name is active, has ended, or is another person's.
            DeniedError: Missing permissions or a quota forbid it.
        """
        manifest = job_manifest(name, options)
        there = self.find(name)
        if there is None:
            try:
                return Job(self._cluster.create(_KIND, manifest, dry_run=dry_run))
            except AlreadyExistsError:
                there = self.get(name)
        if there.started or not there.suspended:
            watch = f"watch it with `egpu watch {name}`"
            again = f"delete it with `egpu delete {name}`, which keeps its volume"
            raise AlreadyExistsError(
                f"there is a job `{name}` already ({there.phase})",
                f"{again if there.finished else watch}, or choose another name",
            )
        if there.owner and there.owner != self._cluster.whoami():
            raise AlreadyExistsError(
                f"there is a job `{name}`, which belongs to `{there.owner}`", "choose another name"
            )
        manifest["spec"].setdefault("suspend", False)
        manifest["metadata"]["uid"] = there.uid
        return Job(self._cluster.apply(_KIND, manifest, dry_run=dry_run))

    def resume(self, job: Job) -> Job:
        """Let a suspended job start."""
        return self._change(job, {"suspend": False})

    def follow(self, name: str, seconds: float | None = None) -> Iterator[Job]:
        """A job now and after each change, until it ends or the seconds have passed.

        Raises:
            WaitTimeoutError: It has not ended by then.
            NotFoundError: It does not exist, at once, or was deleted meanwhile.
        """
        self.get(name)
        return self._changes(name, seconds)

    def _changes(self, name: str, seconds: float | None) -> Iterator[Job]:
        gone = f"its volume is kept until it expires: `egpu artifacts {name}`"
        changes = map(Job, follow(self._cluster, _KIND, name, seconds, gone))
        last = yield from to_its_end(changes, name, gone)
        if last and last.finished:
            return
        state = ""
        if last:
            why = f"{last.reason}: {last.message}" if last.reason else "not observed yet"
            state = f" ({last.phase}): {why}"
        raise WaitTimeoutError(
            f"`{name}` has not ended after {seconds:.0f} s{state}",
            f"the job keeps trying: look with `egpu get {name}`; `egpu delete {name}` cancels it",
        )

    def wait(self, name: str, seconds: float | None = None) -> Job:
        """Wait until a job has ended and return it; raises as `follow` does."""
        *_, last = self.follow(name, seconds)
        return last

    def wait_claim(
        self,
        name: str,
        seconds: float = TIMEOUT,
        progress: Callable[[Job], None] = ignore,
    ) -> Claim:
        """Wait until a job's claim exists, so that a pod can mount the volume.

        Raises:
            WaitTimeoutError: It does not exist by then.
            DevctlError: The operator could not create it.
        """
        until = time.monotonic() + seconds
        failed_since: float | None = None
        while True:
            job = Job(self._cluster.get(_KIND, name))
            with suppress(NotFoundError):
                claim = find_claim(self._cluster, name)
                # It may be an earlier job's: about to be deleted, or another person's.
                if claim.is_of(job):
                    return claim
            progress(job)
            applied, now = job.condition(Condition.APPLIED), time.monotonic()
            failed_since = (failed_since or now) if applied.get("status") == "False" else None
            if failed_since is not None and now - failed_since >= _PATIENCE:
                raise DevctlError(
                    f"the volume of `{name}` cannot be created: {applied.get('message', '')}",
                    f"fix that, or delete the job with `egpu delete {name}`",
                )
            if now >= until:
                raise WaitTimeoutError(
                    f"`{name}` has no volume after {seconds:.0f} s",
                    "check with `devctl doctor` whether the operator is running",
                )
            time.sleep(_POLL)

    def waiting_for(self, which: str | Job) -> Waiting | None:
        """Why a job waits in its team's queue; None if it does not.

        What the user may not see is left out.
        """
        from devctl.client.queues.waiting import job_waits  # noqa: PLC0415 - rarely used

        return job_waits(self._cluster, self._known(which))

    def events(self, name: str) -> Sequence[Event]:
        """The events about a job, its pod and its volume, oldest first."""
        about = {
            ("EphemeralAccelerationJob", name),
            ("Pod", pod_name(name)),
            ("PersistentVolumeClaim", claim_name(name)),
        }
        found = map(Event, self._cluster.list(resources.Event))
        concerned = (e for e in found if (e.object.get("kind"), e.object.get("name")) in about)
        return sorted(concerned, key=lambda event: event.at)

    def logs(self, name: str, *, follow: bool = False, tail: int | None = None) -> Iterator[bytes]:
        """The output of a job, piece by piece.

        Raises:
            NotFoundError: Its pod has been deleted, and the output with it.
            DevctlError: It has not started, and `follow` is not set.
        """
        job = self.get(name)
        if follow and not job.started:
            job = next((seen for seen in self.follow(name) if seen.started), job)
        if not job.started:
            raise DevctlError(
                f"job `{name}` has printed nothing yet: {job.phase}, {job.reason or 'no pod'}",
                job.message or f"wait for it with `egpu logs {name} --follow`",
            )
        try:
            yield from self._cluster.log(pod_name(name), follow=follow, tail=tail)
        except NotFoundError as error:
            kept = job.spec.get("ttlSecondsAfterFinished", 0)
            raise NotFoundError(
                f"the pod of job `{name}` is gone with its output: it was kept for {kept} s after"
                " the end",
                f"`egpu get {name}` has its last lines; `egpu create --ttl 600` keeps the pod",
            ) from error

    def wait_gone(self, name: str, uid: str, seconds: float | None = TIMEOUT) -> None:
        """Wait until a deleted job and its pod are gone; see waiting.wait_gone."""

        def remains() -> str:
            there = self._cluster.find(resources.Pod, pod_name(name))
            held = there and FINALIZER in (there["metadata"].get("finalizers") or [])
            kueue = "; Kueue has to release it, check with `devctl doctor` whether it runs"
            return f"its pod still exists{kueue if held else ''}" if there else ""

        kept = f"its volume is kept: repeat `egpu delete {name} --delete-pvc` in a minute"
        wait_gone(name, uid, lambda: self.find(name), remains, seconds, kept)

    def claim(self, name: str) -> Claim:
        """The claim of a job's volume; raises as devctl.client.jobs.claim.find_claim does."""
        return find_claim(self._cluster, name)

    def delete_claim(self, claim: Claim) -> None:
        """Delete exactly this volume, with all its files; raises BusyError if a pod uses it."""
        if pods := users(self._cluster, claim):
            raise BusyError(
                f"volume `{claim.name}` is kept: pod `{pods[0]}` uses it",
                f"when that has ended, repeat `egpu delete {claim.job} --delete-pvc`",
            )
        self._cluster.delete(resources.PersistentVolumeClaim, claim.raw)
