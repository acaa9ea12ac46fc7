"""A job as the API server returns it, and the manifest of a new one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

from devctl.api import ephemeral_acceleration_job as words
from devctl.api.quantities import GPU, parse_quantity
from devctl.client.objects import Explained, Field, mapping, moment, number, phase_of, text
from devctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from decimal import Decimal

DEFAULT_INPUT = "/artifacts/input.jpg"
"""The input of a job that names none: the default in the CRD's schema."""


@dataclass(frozen=True)
class Job(Explained):
    """A job at one moment."""

    phase = Field(phase_of(words.Phase), "status", "phase")
    """A plain string if only a newer release knows it."""
    gpus = Field(lambda value: 1 if value is None else number(value), "spec", "resources", "gpu")
    """How many GPUs it requests."""
    flavor = Field(text, "spec", "flavor")
    """The flavor whose quota of the team it counts against; empty if it waits in no queue."""
    suspended = Field(bool, "spec", "suspend")
    """Whether it waits to be resumed."""
    input_path = Field(lambda value: text(value) or DEFAULT_INPUT, "spec", "input", "path")
    """The file that it reads."""
    artifact_path = Field(text, "status", "artifactPath")
    """The file that holds its result; empty until there is one."""

    @property
    def current(self) -> bool:
        """Whether the status is about the current spec."""
        seen, wanted = self.status.get("observedGeneration"), self.raw["metadata"].get("generation")
        return bool(self.status) and number(seen) >= number(wanted)

    @property
    def _why(self) -> dict[str, Any]:
        """A role that failed, else the status."""
        applied = self.condition(words.Condition.APPLIED)
        failed = applied.get("status") == "False" and not self.finished
        return applied if failed else self.status

    @property
    def finished(self) -> bool:
        """Whether it has ended for good; False for a phase that only a newer release knows."""
        return self.phase in {words.Phase.SUCCEEDED, words.Phase.FAILED}

    @property
    def started(self) -> bool:
        """Whether it is running or has run; from then on only its retention can be changed."""
        return bool(self.status.get("startedAt")) or self.finished

    @property
    def requests(self) -> dict[str, Decimal]:
        """What its pod requests, by resource."""
        wanted = mapping(self.spec.get("resources"))
        found = {"cpu": wanted.get("cpu", "500m"), "memory": wanted.get("memory", "1Gi")}
        found |= {GPU: self.gpus} if self.gpus else {}
        return {name: parse_quantity(amount) for name, amount in found.items()}

    @property
    def claim(self) -> str:
        """The name of its volume's claim."""
        return words.claim_name(self.name)

    def moment(self, name: str) -> datetime | None:
        """A time in its status, such as `artifactsExpireAt`."""
        return moment(self.status.get(name))


class Options(TypedDict, total=False):
    """The options of a new job; those left out get the defaults of the CRD's schema."""

    model: str
    input_path: str
    output_path: str
    weights_path: str
    """A safetensors file on the volume, with its labels next to it."""
    gpu: int
    flavor: str
    """The job waits for the team's quota of that flavor."""
    ttl: int
    """Seconds to keep the finished pod."""
    pvc_ttl: int
    """Seconds to keep the volume after the job ends."""
    storage_class: str
    pvc_size: str
    image: str
    command: Sequence[str]
    suspend: bool


_FIELDS = {
    "model": ("model",),
    "input_path": ("input", "path"),
    "output_path": ("output", "path"),
    "weights_path": ("weights", "path"),
    "gpu": ("resources", "gpu"),
    "flavor": ("flavor",),
    "ttl": ("ttlSecondsAfterFinished",),
    "pvc_ttl": ("pvcTTLSecondsAfterFinished",),
    "storage_class": ("storageClass",),
    "pvc_size": ("pvcSize",),
    "image": ("image",),
    "command": ("command",),
    "suspend": ("suspend",),
}


def check_name(name: str) -> None:
    """Raise UsageError unless a job can have this name."""
    if not words.NAME.fullmatch(name):
        raise UsageError(f"`{name}` cannot be a job's name", f"a name has to {words.NAME_RULE}")


def job_manifest(name: str, options: Options) -> dict[str, Any]:
    """The manifest of a job, with fields for the given options only; checks the name.

    >>> job_manifest("a", {"gpu": 0, "input_path": "/artifacts/a.jpg"})["spec"]
    {'input': {'path': '/artifacts/a.jpg'}, 'resources': {'gpu': 0}}
    """
    check_name(name)
    given: Mapping[str, Any] = options
    spec: dict[str, Any] = {}
    for option, (*above, field) in _FIELDS.items():
        if option in given:
            block = spec
            for part in above:
                block = block.setdefault(part, {})
            block[field] = list(given[option]) if option == "command" else given[option]
    return {
        "apiVersion": f"{words.GROUP}/{words.VERSION}",
        "kind": words.KIND,
        "metadata": {"name": name},
        "spec": spec,
    }
