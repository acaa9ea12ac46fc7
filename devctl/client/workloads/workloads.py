"""GPU workloads: submit, look at, follow, cancel, retry and delete them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from devctl.api.gpu_workload import LABEL, LONGEST_NAME, RANK, job_name
from devctl.client.events import Event
from devctl.client.objects import NamedCollection
from devctl.client.waiting import follow, to_its_end
from devctl.client.workloads.output import Output, read
from devctl.client.workloads.workload import Workload, check_name
from devctl.errors import (
    AlreadyExistsError,
    BusyError,
    DevctlError,
    NotFoundError,
    WaitTimeoutError,
)
from devctl.kube import resources

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from devctl.client.queues.waiting import Waiting
    from devctl.client.workloads.code import Code
    from devctl.client.workloads.submission import Submission
    from devctl.client.workloads.workspace import Workspaces
    from devctl.kube.cluster import Object

_KIND = resources.GPUWorkload
_JOB = "batch.kubernetes.io/job-name"
"""Kubernetes' label of a pod: its Job."""
_COPIES = 98
"""Of a workload, at most."""
_GONE = "list yours with `devctl jobs list`"


def copy_names(name: str) -> Iterator[str]:
    """Names for copies of a workload, until one is free.

    >>> list(copy_names("llama"))[:2], len(next(copy_names("a" * 52)))
    (['llama-2', 'llama-3'], 52)
    """
    for number in range(2, _COPIES + 2):
        end = f"-{number}"
        yield name[: LONGEST_NAME - len(end)].rstrip("-") + end


class Workloads(NamedCollection[Workload]):
    """The GPU workloads that a user may see.

    for seen in client.workloads.follow("llama"):
        print(seen.phase, seen.message)
    for attempt, rank, data in client.workloads.logs("llama"):
        print(attempt, rank, data)
    """

    _kind, _item = _KIND, Workload
    _noun = "GPU workload"
    _see = "list yours with `devctl jobs list`, those of all namespaces with -A"
    _check_name = staticmethod(check_name)

    def submit(self, name: str, submission: Submission, *, dry_run: bool = False) -> Workload:
        """Create a workload that runs a command of a project.

        Raises:
            AlreadyExistsError: There is one of that name.
            UsageError: The submission is not possible.
            DeniedError: Missing permissions or a quota forbid it.
        """
        manifest = submission.manifest(name)
        return Workload(self._cluster.create(_KIND, manifest, dry_run=dry_run))

    def send(self, code: Code) -> str:
        """Store code for a submission; returns what `Submission.code` is to be.

        Code that no workload names any more is deleted.
        """
        from devctl.client.workloads.code import prune, send  # noqa: PLC0415 - submit only

        prune(self._cluster)
        return send(self._cluster, code)

    @property
    def workspaces(self) -> Workspaces:
        """The volumes of workspaces."""
        from devctl.client.workloads.workspace import Workspaces  # noqa: PLC0415 - heavy

        return Workspaces(self._cluster)

    def release(self, which: str | Workload) -> Workload:
        """Give back the volume of a workload that has ended, with its files.

        Its pods go with their output, unless its spec says how long they are kept: Kubernetes keeps
        a volume as long as a pod names it.
        """
        found = self._known(which)
        self.workspaces.delete(found.name)
        kept = "ttlSecondsAfterFinished"
        return found if kept in found.spec else self._change(found, {kept: 0})

    def cancel(self, which: str | Workload) -> Workload:
        """Stop an attempt: its pod is removed, and its output with it; the workload stays."""
        return self._change(which, {"stopped": True})

    def retry(self, which: str | Workload) -> Workload:
        """Start a stopped workload again, or a copy of one that has ended.

        The end of a workload is final, so its copy has the same spec, a name of its own, such as
        `llama-2`, and belongs to its creator.

        Raises:
            BusyError: It has neither been stopped nor ended.
            DeniedError: Missing permissions or a quota forbid it.
        """
        found = self._known(which)
        if found.finished:
            return self._copy(found)
        if not found.stopped:
            raise BusyError(
                f"`{found.name}` has not ended ({found.phase})",
                f"it repeats failed attempts by itself; `devctl jobs cancel {found.name}` stops it",
            )
        return self._change(found, {"stopped": False})

    def _copy(self, found: Workload) -> Workload:
        spec = {name: value for name, value in found.spec.items() if name != "owner"}
        for name in copy_names(found.name):
            manifest = {
                "apiVersion": _KIND.api_version,
                "kind": _KIND.name,
                "metadata": {"name": name, "namespace": found.namespace},
                "spec": spec | {"stopped": False},
            }
            with suppress(AlreadyExistsError):
                return Workload(self._cluster.create(_KIND, manifest))
        raise AlreadyExistsError(
            f"`{found.name}` has too many copies already", "delete some with `devctl jobs delete`"
        )

    def follow(self, name: str, seconds: float | None = None) -> Iterator[Workload]:
        """A workload now and after each change, until it ends or the seconds have passed.

        One that was stopped has not ended: it starts again once somebody asks for that.

        Raises:
            WaitTimeoutError: It has not ended by then.
            NotFoundError: It does not exist, at once, or was deleted meanwhile.
        """
        self.get(name)
        return self._changes(name, seconds)

    def _changes(self, name: str, seconds: float | None) -> Iterator[Workload]:
        changes = map(Workload, follow(self._cluster, _KIND, name, seconds, _GONE))
        last = yield from to_its_end(changes, name, _GONE)
        if last and last.finished:
            return
        why = f" ({last.phase}): {last.message}" if last and last.message else ""
        raise WaitTimeoutError(
            f"`{name}` has not ended after {seconds:.0f} s{why}",
            f"it continues: look with `devctl jobs describe {name}`;"
            f" `devctl jobs cancel {name}` stops it",
        )

    def logs(
        self,
        name: str,
        *,
        follow: bool = False,
        attempt: int | None = None,
        tail: int | None = None,
    ) -> Iterator[Output]:
        """What the last attempt, or a given one, has printed; `tail` limits it to the last lines.

        Several pods are read one after another. With `follow`, the output of the last attempt and
        of those that come, until the workload ends; that of several pods as it arrives.

        Raises:
            NotFoundError: The attempt's pods do not exist any more, and their output with them.
            DevctlError: The attempt has printed nothing yet.
        """
        workload = self.get(name)
        if follow and attempt is None:
            seen = self._attend(workload, tail)
            yield from (each for each in seen if isinstance(each, Output))
            return
        wanted = workload.printed if attempt is None else attempt
        if not 0 < wanted <= workload.printed:
            raise _nothing_printed(workload, attempt)
        pods = self._pods(name, wanted)
        if not pods:
            raise NotFoundError(
                f"the pod of attempt {wanted} of `{name}` is gone with its output",
                f"`devctl jobs describe {name}` has the last lines of the last attempt;"
                " spec.ttlSecondsAfterFinished is how long pods are kept",
            )
        yield from self._output(pods, wanted, follow=follow, tail=tail)

    def attend(self, name: str) -> Iterator[Workload | Output]:
        """A workload after each change, and what its attempts print, until it ends."""
        return self._attend(self.get(name), None)

    def _attend(self, workload: Workload, tail: int | None) -> Iterator[Workload | Output]:
        """Its states; the output of the last attempt that has begun, then of each later one.

        While an attempt is read, others may come and go: those are read afterwards.
        """
        done = max(0, workload.printed - 1)
        for seen in self.follow(workload.name):
            yield seen
            for attempt in range(done + 1, seen.printed + 1):
                # One that never started, or was removed meanwhile, has nothing to show.
                if pods := self._pods(workload.name, attempt):
                    yield from self._output(pods, attempt, follow=True, tail=tail)
                tail = None
                done = attempt

    def _output(
        self, pods: Mapping[int, str], attempt: int, *, follow: bool, tail: int | None
    ) -> Iterator[Output]:
        for rank, data in read(self._cluster, pods, follow=follow, tail=tail):
            yield Output(attempt, rank, data)

    def _pods(self, name: str, attempt: int) -> dict[int, str]:
        """The pods of an attempt whose programs have started, by rank; of each, the newest."""
        labels = {LABEL: name, _JOB: job_name(name, attempt)}
        found = [pod for pod in self._cluster.list(resources.Pod, labels=labels) if _started(pod)]
        found.sort(key=lambda pod: str(pod["metadata"].get("creationTimestamp")))
        return {_rank(pod): str(pod["metadata"]["name"]) for pod in found}

    def events(self, name: str) -> Sequence[Event]:
        """The events about a workload, its Jobs and their pods, oldest first."""
        workload = self.get(name)
        jobs = {job_name(name, attempt) for attempt in range(1, workload.attempt + 1)}
        ranks = range(workload.nodes) if workload.nodes > 1 else ()
        pods = jobs | {f"{job}-{rank}" for job in jobs for rank in ranks}
        found = map(Event, self._cluster.list(resources.Event))
        return sorted(
            (event for event in found if _is_about(event, name, jobs, pods)),
            key=lambda event: event.at,
        )

    def waiting_for(self, which: str | Workload) -> Waiting | None:
        """Why a workload waits in its queue; None if it does not.

        What the user may not see is left out.
        """
        from devctl.client.queues.waiting import workload_waits  # noqa: PLC0415 - rarely used

        return workload_waits(self._cluster, self._known(which))


def _is_about(event: Event, name: str, jobs: set[str], pods: set[str]) -> bool:
    """Whether an event is about a workload, a Job, or a pod whose name begins as one of `pods`."""
    kind, about = str(event.object.get("kind")), str(event.object.get("name"))
    if kind == _KIND.name:
        return about == name
    return about in jobs if kind == "Job" else kind == "Pod" and about.rpartition("-")[0] in pods


def _rank(pod: Object) -> int:
    return int((pod["metadata"].get("labels") or {}).get(RANK, 0))


def _started(pod: Object) -> bool:
    """Whether a pod's program has started, so that it has output."""
    containers = (pod.get("status") or {}).get("containerStatuses") or []
    return any({"running", "terminated"} & (each.get("state") or {}).keys() for each in containers)


def _nothing_printed(workload: Workload, attempt: int | None) -> DevctlError:
    name = workload.name
    if attempt is not None and attempt != workload.attempt:
        return NotFoundError(
            f"`{name}` has had no attempt {attempt}: the last one is {workload.attempt}",
            "leave out --attempt for the last one",
        )
    return DevctlError(
        f"`{name}` has printed nothing yet: {workload.phase}, {workload.reason or 'not observed'}",
        workload.message or f"wait for it with `devctl jobs logs {name} --follow`",
    )
