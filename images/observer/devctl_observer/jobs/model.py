"""A job, as far as the observer reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from lightkube.generic_resource import create_namespaced_resource

from devctl.api.ephemeral_acceleration_job import GROUP, KIND, PLURAL, VERSION, WAKE, Phase
from devctl_observer.control.kind import Kind
from devctl_observer.judging.model import Base, Meta

if TYPE_CHECKING:
    from collections.abc import Mapping

EphemeralAccelerationJob = create_namespaced_resource(GROUP, VERSION, KIND, PLURAL)

_ENDS = {str(Phase.SUCCEEDED), str(Phase.FAILED)}


class Output(Base, frozen=True):
    """Where the result goes."""

    path: str = "/artifacts/output.json"


class JobSpec(Base, frozen=True):
    """What the user wants; defaults are those of the schema."""

    output: Output = Output()
    ttl_seconds_after_finished: int = 0
    pvc_ttl_seconds_after_finished: int = msgspec.field(
        default=3600, name="pvcTTLSecondsAfterFinished"
    )
    suspend: bool = False


class Job(Base, frozen=True):
    """An EphemeralAccelerationJob."""

    metadata: Meta
    spec: JobSpec = JobSpec()
    status: dict[str, Any] = msgspec.field(default_factory=dict)
    wake: str = ""
    """The annotation that re-runs the role."""

    @property
    def finished(self) -> bool:
        """Whether it has ended, for ever."""
        return self.status.get("phase") in _ENDS

    @property
    def started(self) -> bool:
        """Whether its program is known to have run."""
        return bool(self.status.get("startedAt"))

    @property
    def going(self) -> bool:
        """Whether it is being deleted."""
        return self.metadata.deletion_timestamp is not None


def parse_job(obj: Mapping[str, Any]) -> Job:
    """A job from the API's JSON."""
    job = msgspec.convert(obj, Job)
    # The other annotations may be large, and nothing is read of them.
    wake = (obj["metadata"].get("annotations") or {}).get(WAKE, "")
    return msgspec.structs.replace(job, wake=wake)


JOB = Kind(EphemeralAccelerationJob, parse_job, WAKE)
