"""The parts of a VLLMRun that the observer reads, and its outcome."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from devctl.api.durations import parse_duration
from devctl.api.kinds import VLLM_RUN
from devctl.api.vllm_run import ENDS, Phase, gpus_of
from devctl_observer.control.kind import kind_of
from devctl_observer.judging.clocks import from_text
from devctl_observer.judging.model import Base, Item


class VLLMRunSpec(Base, frozen=True):
    """The spec, with the defaults of the schema."""

    owner: str = ""
    gpus: int | None = None
    gpu_ids: tuple[int, ...] = ()
    prefer_node: str = ""
    image: str = ""
    image_name: str = ""
    repo_name: str = ""
    models: tuple[str, ...] = ()
    port: int = 8000
    timeout: int | str | None = None
    ttl_seconds_after_finished: int | None = None


class VLLMRun(Item, frozen=True):
    """A VLLMRun."""

    spec: VLLMRunSpec

    @property
    def phase(self) -> Phase:
        """The phase in its status."""
        return Phase(self.status.get("phase") or Phase.PENDING)

    @property
    def finished(self) -> bool:
        """Whether it has ended, which is final."""
        return self.phase in ENDS

    @property
    def started(self) -> bool:
        """Whether its program is known to have run."""
        return bool(self.status.get("startedAt"))

    @property
    def is_up(self) -> bool:
        """Whether it was up once: served, or without a port started."""
        return bool(self.status.get("servedAt")) if self.spec.port else self.started

    @property
    def gpus(self) -> int:
        """How many GPUs it claims."""
        return gpus_of({"gpus": self.spec.gpus, "gpuIds": self.spec.gpu_ids})

    @property
    def start_by(self) -> datetime | None:
        """When it has failed unless its program has started by then; None for never."""
        made = self.metadata.creation_timestamp
        if self.spec.timeout is None or made is None or self.started:
            return None
        return made + parse_duration(self.spec.timeout)

    @property
    def expires_at(self) -> datetime | None:
        """When the pod of a finished run is no longer kept; None if it is kept for good."""
        seconds = self.spec.ttl_seconds_after_finished
        finished = from_text(self.status.get("finishedAt")) if self.finished else None
        return None if seconds is None or finished is None else finished + timedelta(0, seconds)


KIND = kind_of(VLLM_RUN, VLLMRun)


@dataclass(frozen=True)
class Outcome:
    """The phase of a run, the reason, and what its owner can do."""

    phase: Phase
    reason: str
    message: str
    started: datetime | None = None
    """When its program started, according to its node; None if unknown."""
    finished: datetime | None = None
    exit_code: int | None = None
    absence: bool = False
    """Whether it follows from the absence of something, which a cache cannot prove."""
    until: datetime | None = None
    """When the run fails if nothing changes by then."""

    @property
    def ended(self) -> bool:
        """Whether the phase is final."""
        return self.phase in ENDS
