"""Jobs: make them, look at them, delete them."""

from __future__ import annotations

import time
from functools import cached_property
from typing import TYPE_CHECKING, Any

from devctl.api.ephemeral_acceleration_job import claim_name, pod_name
from devctl.client.events import Event
from devctl.client.homes import mounts
from devctl.client.jobs.claim import Claim, find_claim
from devctl.client.jobs.cleanup import Cleanup
from devctl.client.jobs.files import JobFiles
from devctl.client.jobs.following import follow, wait_claim
from devctl.client.jobs.job import Job
from devctl.client.jobs.manifest import Options, check_name, job_manifest
from devctl.errors import (
    AlreadyExistsError,
    BusyError,
    DevctlError,
    NotFoundError,
    WaitTimeoutError,
)
from devctl.kube import resources
from devctl.kube.cluster import WINDOW

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Unpack

    from devctl.kube.cluster import Change, Cluster, Object

TIMEOUT = 300.0
"""Seconds for which is waited where nobody says how long."""
_POLL = 0.5
_KIND = resources.EphemeralAccelerationJob


class Jobs:
    """The jobs that a user may see.

    job = client.jobs.create("my-job", input_path="/artifacts/image.jpg", suspend=True)
    client.jobs.files.upload("my-job", Path("project"))
    client.jobs.resume(job)
    client.jobs.wait("my-job")
    """

    def __init__(self, cluster: Cluster) -> None:
        """Ask nothing yet."""
        self._cluster = cluster

    @cached_property
    def files(self) -> JobFiles:
        """The files on the volumes of jobs."""
        return JobFiles(self._cluster)

    @cached_property
    def cleanup(self) -> Cleanup:
        """Volumes whose time is over."""
        return Cleanup(self._cluster)

    def list(
        self, namespace: str | None = None, labels: dict[str, Any] | None = None
    ) -> Iterator[Job]:
        """All jobs of a namespace, or of devctl.kube.cluster.EVERYWHERE, page by page."""
        return map(Job, self._cluster.list(_KIND, namespace, labels))

    def get(self, name: str) -> Job:
        """One job.

        Raises:
            NotFoundError: There is none of that name.
            UsageError: There can be none of that name.
        """
        found = self.find(name)
        if found is None:
            raise NotFoundError(
                f"there is no job `{name}` in namespace `{self._cluster.namespace}`",
                "see what there is with `egpu list`, everywhere with -A",
            )
        return found

    def find(self, name: str) -> Job | None:
        """One job, or None where there is none of that name."""
        check_name(name)
        found = self._cluster.find(_KIND, name)
        return None if found is None else Job(found)

    def watch(self, namespace: str | None = None) -> Iterator[Change]:
        """All jobs as they are and as they change; never ends by itself."""
        while True:
            yield from self._cluster.watch(_KIND, namespace, seconds=WINDOW)

    def manifest(self, name: str, **options: Unpack[Options]) -> Object:
        """What `create` would create."""
        return job_manifest(name, options)

    def create(self, name: str, *, dry_run: bool = False, **options: Unpack[Options]) -> Job:
        """Create a job, or complete one that was made suspended and has never started.

        Args:
            name: Its name.
            dry_run: Whether the API server is only to check it, by all its rules.
            options: See devctl.client.jobs.manifest.Options.

        Raises:
            UsageError: The options make no sense.
            AlreadyExistsError: There is a job of that name that goes on, has ended, or is
                another person's.
            DeniedError: Rights or a quota forbid it.
        """
        manifest = job_manifest(name, options)
        there = self.find(name)
        if there is None:
            try:
                return Job(self._cluster.create(_KIND, manifest, dry_run=dry_run))
            except AlreadyExistsError:
                there = self.get(name)
        if there.started or not there.suspended:
            raise _taken(there)
        if there.owner and there.owner != self._cluster.whoami():
            raise AlreadyExistsError(
                f"job `{name}` waits for its files, and is `{there.owner}`'s",
                "choose another name",
            )
        manifest["spec"].setdefault("suspend", False)
        manifest["metadata"]["uid"] = there.uid
        return Job(self._cluster.apply(_KIND, manifest, dry_run=dry_run))

    def resume(self, job: Job) -> Job:
        """Let a suspended job go."""
        # The UID makes the API server refuse if it is another job of that name by now.
        change = {"metadata": {"uid": job.uid}, "spec": {"suspend": False}}
        return Job(self._cluster.patch(_KIND, job.name, change))

    def wait_claim(
        self,
        name: str,
        seconds: float = TIMEOUT,
        progress: Callable[[Job], None] = lambda _job: None,
    ) -> Claim:
        """Wait until a job's volume is asked for; see devctl.client.jobs.following.wait_claim."""
        return wait_claim(self._cluster, name, seconds, progress)

    def follow(self, name: str, seconds: float | None = None) -> Iterator[Job]:
        """A job as it is and at each change, until it ends."""
        self.get(name)
        return follow(self._cluster, name, seconds)

    def wait(self, name: str, seconds: float | None = None) -> Job:
        """Wait until a job has ended; the job then.

        Raises:
            WaitTimeoutError: It has not ended in time.
            NotFoundError: It was deleted meanwhile.
        """
        *_, last = self.follow(name, seconds)
        return last

    def events(self, name: str) -> Sequence[Event]:
        """What has happened to a job, its pod and its volume, the oldest first."""
        about = {
            ("EphemeralAccelerationJob", name),
            ("Pod", pod_name(name)),
            ("PersistentVolumeClaim", claim_name(name)),
        }
        found = map(Event, self._cluster.list(resources.Event))
        concerned = (
            event
            for event in found
            if (event.object.get("kind"), event.object.get("name")) in about
        )
        return sorted(concerned, key=lambda event: event.at)

    def logs(self, name: str, *, follow: bool = False, tail: int | None = None) -> Iterator[bytes]:
        """What a job has printed, piece by piece.

        Raises:
            NotFoundError: Its pod is gone, and its output with it.
            DevctlError: It has not begun yet, and is not followed.
        """
        job = self.get(name)
        if follow and not job.started:
            for job in self.follow(name):
                if job.started:
                    break
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
                f"the pod of job `{name}` is gone, and its output with it; it was kept for "
                f"{kept} s after the end",
                f"`egpu get {name}` has its last words; `egpu create --ttl 600` keeps all of them",
            ) from error

    def delete(self, which: str | Job) -> Job:
        """Delete a job and keep its volume; the job as it was.

        Args:
            which: Its name; or the job itself, so that no new one of that name is deleted.
        """
        job = self.get(which) if isinstance(which, str) else which
        self._cluster.delete(_KIND, job.raw)
        return job

    def claim(self, name: str) -> Claim:
        """The claim of a job's volume, whether the job is still there or not."""
        check_name(name)
        return find_claim(self._cluster, name)

    def users(self, claim: Claim) -> Sequence[str]:
        """The pods that have a volume in use."""
        found = mounts(self._cluster.list(resources.Pod, claim.namespace))
        return found.get((claim.namespace, claim.name), [])

    def wait_gone(self, name: str, uid: str, seconds: float = TIMEOUT) -> None:
        """Wait until a deleted job and its pod are gone.

        Raises:
            WaitTimeoutError: They are still there.
            AlreadyExistsError: There is a new job of that name.
        """
        until = time.monotonic() + seconds
        while True:
            job = self.find(name)
            if job and job.uid != uid:
                raise AlreadyExistsError(
                    f"`{name}` was recreated meanwhile, and its volume is left alone",
                    "repeat the command if you mean the new one",
                )
            if not job and not self._has_pod(name):
                return
            if time.monotonic() >= until:
                raise WaitTimeoutError(
                    f"`{name}` still ends after {seconds:.0f} s, and its volume is kept",
                    f"repeat `egpu delete {name} --delete-pvc` in a minute",
                )
            time.sleep(_POLL)

    def delete_claim(self, claim: Claim) -> None:
        """Delete exactly this volume, and all files on it.

        Raises:
            BusyError: A pod uses it.
        """
        if users := self.users(claim):
            raise BusyError(
                f"volume `{claim.name}` is kept: pod `{users[0]}` uses it",
                f"when that has ended, repeat `egpu delete {claim.job} --delete-pvc`",
            )
        self._cluster.delete(resources.PersistentVolumeClaim, claim.raw)

    def _has_pod(self, name: str) -> bool:
        try:
            self._cluster.get(resources.Pod, pod_name(name))
        except NotFoundError:
            return False
        return True


def _taken(job: Job) -> AlreadyExistsError:
    name = job.name
    if job.finished:
        return AlreadyExistsError(
            f"job `{name}` has ended already ({job.phase})",
            f"for another run delete it with `egpu delete {name}`, which keeps its volume, and"
            " create it again; or choose another name",
        )
    return AlreadyExistsError(
        f"there is a job `{name}` already ({job.phase})",
        f"watch it with `egpu watch {name}`, or choose another name",
    )
