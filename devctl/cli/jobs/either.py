"""Jobs of either kind: GPU workloads and ephemeral jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devctl.client.jobs.job import Job
from devctl.client.workloads.workload import Workload
from devctl.errors import DeniedError, DevctlError, NotFoundError, UsageError
from devctl.kube.failures import NO_SUCH_KIND
from devctl.kube.resources import EphemeralAccelerationJob, GPUWorkload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from devctl.client.client import Client

AnyJob = Workload | Job

_KINDS = {Workload: GPUWorkload, Job: EphemeralAccelerationJob}
_WORDS = {
    **dict.fromkeys(("gpuworkload", "gpuworkloads", "gw"), Workload),
    **dict.fromkeys(("ephemeralaccelerationjob", "ephemeralaccelerationjobs", "eaj"), Job),
}
"""What kubectl calls the kinds."""


def kind(job: AnyJob) -> str:
    """The name of a job's kind."""
    return _KINDS[type(job)].name


def resource(job: AnyJob) -> str:
    """The prefix of its name in `-o name`."""
    return kind(job).lower()


def every(
    client: Client, namespace: str | None = None, labels: Mapping[str, Any] | None = None
) -> Sequence[AnyJob]:
    """All jobs that the user may see, by namespace and name.

    Raises:
        DeniedError: They may see neither kind.
        NotFoundError: The cluster has neither kind.
    """
    looks: list[Callable[[], Iterator[AnyJob]]] = [
        lambda: client.workloads.list(namespace, labels),
        lambda: client.jobs.list(namespace, labels),
    ]
    found: list[AnyJob] = []
    missing: list[DevctlError] = []
    for look in looks:
        try:
            found += look()
        except (DeniedError, NotFoundError) as error:
            missing.append(_lacking(error))
    if len(missing) == len(looks):
        raise missing[0]
    return sorted(found, key=lambda job: (job.namespace, job.name))


def _lacking(error: DevctlError) -> DevctlError:
    """An error that means that a user, or a cluster, has one kind of jobs only.

    Each kind has a role of its own, and an earlier release lacks a kind. Raises any other error.
    """
    if not isinstance(error, DeniedError) and error.reason != NO_SUCH_KIND:
        raise error
    return error


def named(client: Client, word: str) -> AnyJob:
    """The job of a name, or of KIND/NAME.

    Raises:
        NotFoundError: There is none.
        UsageError: The name or kind is invalid, or there is one of each kind.
    """
    given, slash, name = word.rpartition("/")
    if not slash:
        return _of_any_kind(client, name)
    if given.lower() not in _WORDS:
        raise UsageError(
            f"`{given}` is no kind of job", f"write `gpuworkload/{name}` or `eaj/{name}`"
        )
    part = client.workloads if _WORDS[given.lower()] is Workload else client.jobs
    return part.get(name)


def _of_any_kind(client: Client, name: str) -> AnyJob:
    looks: list[Callable[[str], AnyJob | None]] = [client.workloads.find, client.jobs.find]
    found: list[AnyJob] = []
    invalid: list[DevctlError] = []
    for look in looks:
        try:
            found += filter(None, [look(name)])
        except (DeniedError, NotFoundError) as error:
            invalid.append(_lacking(error))
        except UsageError as error:
            # A name that is too long for one kind may be one of the other.
            invalid.append(error)
    if len(invalid) == len(looks):
        raise invalid[0]
    if not found:
        raise NotFoundError(
            f"there is no job `{name}` in namespace `{client.namespace}`",
            "list your jobs with `devctl jobs list`, those of all namespaces with -A",
        )
    if len(found) > 1:
        raise UsageError(
            f"there are a GPU workload and an ephemeral job `{name}`",
            f"write `gpuworkload/{name}` or `eaj/{name}`",
        )
    return found[0]
