"""Jobs of the GPU workers API."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from devctl.client.waiting import ignore
from devctl.client.workers.generated.models import NewJob, Variable
from devctl.client.workers.images import parts_of
from devctl.errors import WaitTimeoutError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from devctl.client.files.copy import Copied
    from devctl.client.files.transfer import Progress
    from devctl.client.workers.generated.calls import Calls
    from devctl.client.workers.generated.models import Artifacts, Cost, WorkerJob

_POLL, _SLOWEST = 0.5, 5.0
"""Seconds between two looks at a job: at first, and at most."""


@dataclass(frozen=True)
class NewWorkerJob:
    """What is asked for; what is None has the API's default.

    Attributes:
        image: A reference, with a tag or digest or without.
        name: For people.
        command: In place of the image's.
        args: In place of the image's; the command gets them.
        gpus: How many; None for 1 if it needs GPU memory, else 0.
        gpu_memory: Of all its GPUs together, in megabytes.
        cores: CPU cores.
        memory: In megabytes.
        input: The program gets it as JSON in INPUT_DATA, and in the file INPUT_DATA_FILE.
        env: Further variables.
        queue: The LocalQueue.
        priority: low, normal or high.
        strategy: leastLoaded, packed, costOptimized or random.
        timeout: In seconds.
        retries: How often it is started again if it fails.
    """

    image: str
    name: str
    command: Sequence[str] = ()
    args: Sequence[str] = ()
    gpus: int | None = None
    gpu_memory: int | None = None
    cores: int | None = None
    memory: int | None = None
    input: Mapping[str, Any] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    queue: str | None = None
    priority: str | None = None
    strategy: str | None = None
    timeout: int | None = None
    retries: int | None = None

    def request(self) -> NewJob:
        """As the API is asked; raises UsageError if the image is none."""
        repository, tag = parts_of(self.image)
        found = {
            "gpu_memory_required": self.gpu_memory,
            "gpu_count": self.gpus,
            "cpu_cores_required": self.cores,
            "memory_required": self.memory,
            "input_data": dict(self.input) or None,
            "command": list(self.command) or None,
            "args": list(self.args) or None,
            "env": [Variable(name=name, value=value) for name, value in self.env.items()] or None,
            "queue": self.queue,
            "priority": self.priority,
            "scheduling_strategy": self.strategy,
            "timeout_seconds": self.timeout,
            "retries": self.retries,
        }
        said: dict[str, Any] = {name: value for name, value in found.items() if value is not None}
        return NewJob(job_name=self.name, docker_image=repository, docker_tag=tag, **said)


class WorkerJobs:
    """Submit, follow and cancel jobs."""

    def __init__(self, api: Calls) -> None:
        """Take the API; ask nothing yet."""
        self._api = api

    def submit(self, new: NewWorkerJob | NewJob, *, key: str = "") -> WorkerJob:
        """Submit a job. It is on record when this returns, and in the cluster a moment later.

        Args:
            new: The job.
            key: Names the submission for a day: another one with it is the same job. Unless said,
                it has a name of its own, so that a lost answer is asked for again.

        Raises:
            UsageError: Something cannot be as it is asked for.
            DeniedError: The account has no credit left.
        """
        body = new.request() if isinstance(new, NewWorkerJob) else new
        return self._api.submit_job(body, key=key or str(uuid.uuid4()))

    def list(
        self,
        *,
        state: str | None = None,
        name: str | None = None,
        node: str | None = None,
        since: datetime | None = None,
        before: datetime | None = None,
    ) -> Iterator[WorkerJob]:
        """One's own, the newest first.

        Args:
            state: Only those in this state.
            name: Only those of this name.
            node: Only those that are or were on the node of this ID.
            since: Only those submitted from then on; with a time zone.
            before: Only those submitted before; with a time zone.
        """
        return self._api.list_jobs(
            state=state, job_name=name, node_id=node, created_from=since, created_before=before
        )

    def get(self, job_id: str) -> WorkerJob:
        """One; raises NotFoundError if none of this ID is the caller's."""
        return self._api.get_job(job_id)

    def cancel(self, job_id: str) -> WorkerJob:
        """End a job, whether it runs or waits; one that is cancelled already stays so.

        Raises:
            DevctlError: It has ended otherwise; the reason is `Conflict`.
        """
        return self._api.cancel_job(job_id)

    def delete(self, job_id: str) -> None:
        """End a job if it runs or waits, and have it listed no more once it has ended.

        What it has cost stays in bills; one that is deleted already stays so.

        Raises:
            NotFoundError: None of this ID is the caller's.
        """
        self._api.delete_job(job_id)

    def wait(
        self,
        job_id: str,
        timeout: float | None = None,
        progress: Callable[[WorkerJob], object] = ignore,
    ) -> WorkerJob:
        """Wait until a job has ended, however it ends.

        Args:
            job_id: Which one.
            timeout: Seconds; None for as long as it takes.
            progress: Called with the job whenever it was looked at.

        Raises:
            WaitTimeoutError: It takes longer.
        """
        end = None if timeout is None else time.monotonic() + timeout
        pause = _POLL
        while True:
            job = self.get(job_id)
            progress(job)
            if job.finished:
                return job
            if end is not None and time.monotonic() >= end:
                raise WaitTimeoutError(
                    f"job `{job_id}` is still {job.state}", "wait longer, or see its message"
                )
            left = pause if end is None else end - time.monotonic()
            _sleep(max(0.0, min(pause, left)))
            pause = min(_SLOWEST, pause * 1.5)

    def logs(
        self, job_id: str, *, follow: bool = False, tail: int | None = None
    ) -> Iterator[bytes]:
        """What a job has written, for as long as its pod is there.

        Args:
            job_id: Which one.
            follow: Until it ends.
            tail: Only the last lines.

        Raises:
            DevctlError: It has no pod yet, or none any more.
        """
        return self._api.get_job_logs(job_id, follow=follow or None, tail=tail)

    def artifacts(self, job_id: str) -> Artifacts:
        """The files that a job has written until now, sorted by path.

        Raises:
            NotFoundError: There is no such job, or the deployment keeps no files.
        """
        from devctl.client.workers import artifacts  # noqa: PLC0415 - heavy

        return artifacts.listed(self._api, job_id)

    def download(self, job_id: str, path: str, target: Path, moved: Progress | None = None) -> Path:
        """Fetch one of a job's files, and say where it is.

        Args:
            job_id: Which job.
            path: Of the file, as `artifacts` has it.
            target: Where it goes; in a folder, it keeps its name. A file there is replaced.
            moved: Told of the bytes that have come.

        Raises:
            NotFoundError: There is no such file.
            UsageError: It would be part of a git repository here.
            ConnectionLostError: It is not complete, and not here.
        """
        from devctl.client.workers import artifacts  # noqa: PLC0415 - heavy

        return artifacts.download(self._api, job_id, path, target, moved)

    def pull(self, job_id: str, into: Path, moved: Progress | None = None) -> Copied:
        """Fetch a job's files into a folder; no local file is replaced by a different one.

        Raises:
            DevctlError: Local files are in the way, there is no room, or something is sent that no
                honest API would; all local files are then unchanged.
        """
        from devctl.client.workers import artifacts  # noqa: PLC0415 - heavy

        return artifacts.pull(self._api, job_id, into, moved)

    def cost(self, job_id: str) -> Cost:
        """What a job costs: until now while it runs, and for good once it is charged."""
        return self._api.get_job_cost(job_id)


def _sleep(seconds: float) -> None:
    time.sleep(seconds)
