"""Everything that a job's status is derived from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from devctl.api.ephemeral_acceleration_job import pod_name
from devctl_observer.judging.pods import Surroundings
from devctl_observer.judging.timestamps import from_text
from devctl_observer.watching.children import is_owned

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lightkube.resources.core_v1 import PersistentVolumeClaim, Pod

    from devctl.api.placing import NodeFacts
    from devctl_observer.jobs.model import Job


def is_own(pod: Pod, job: Job) -> bool:
    """Whether a pod is that very job's, and not an earlier job's or made after its program ran."""
    if not is_owned(pod.metadata, job.metadata.uid):
        return False
    started = from_text(job.status.get("startedAt"))
    made = pod.metadata.creationTimestamp if pod.metadata else None
    return not (job.started and started and made and made > started)


@dataclass(frozen=True)
class Observed:
    """A job and what is there of it."""

    job: Job
    pod: Pod | None = None
    """Its own pod."""
    last: Pod | None = None
    """Its own pod as it was seen last, where that is gone: its kubelet tells its end and removes it
    within milliseconds."""
    taken: bool = False
    """Whether the pod of its name is not its own."""
    claim: PersistentVolumeClaim | None = None
    """The claim of its name, if a role has made it for a job of that name and it stays."""
    around: Surroundings = field(default_factory=Surroundings)
    nodes: frozenset[str] = frozenset()
    """Nodes that answer."""
    listed: bool = False
    """Whether pod and nodes were asked for past the cache."""

    @property
    def pod_name(self) -> str:
        """What its pod is called."""
        return pod_name(self.job.metadata.name)

    def with_pod(
        self, pod: Pod | None, nodes: Iterable[NodeFacts], *, listed: bool = False
    ) -> Observed:
        """The same with the pod of its name, whosever that is, and the nodes."""
        own = pod is not None and is_own(pod, self.job)
        return replace(
            self,
            pod=pod if own else None,
            taken=pod is not None and not own,
            nodes=frozenset(node.name for node in nodes if node.ready),
            listed=listed,
        )
