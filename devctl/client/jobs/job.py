"""A job as the cluster knows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from devctl.api.conditions import find
from devctl.api.ephemeral_acceleration_job import Condition, Phase, claim_name
from devctl.client.objects import Named, known, moment, number

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True)
class Job(Named):
    """A job at one moment."""

    @property
    def uid(self) -> str:
        """What tells it from every other job that ever had its name."""
        return str(self.raw["metadata"]["uid"])

    @property
    def spec(self) -> dict[str, Any]:
        """What its user wants."""
        found: dict[str, Any] = self.raw.get("spec") or {}
        return found

    @property
    def status(self) -> dict[str, Any]:
        """What the observer sees; empty until it has looked."""
        found: dict[str, Any] = self.raw.get("status") or {}
        return found

    @property
    def current(self) -> bool:
        """Whether its status speaks of what its user wants now."""
        seen, wanted = self.status.get("observedGeneration"), self.raw["metadata"].get("generation")
        return bool(self.status) and number(seen) >= number(wanted)

    @property
    def phase(self) -> Phase | str:
        """What it does, in one word; as it is where a newer release has brought the word."""
        return known(Phase, self.status.get("phase") or Phase.PENDING)

    @property
    def reason(self) -> str:
        """Why it is in its phase, in one word; what its role could not do comes first."""
        applied = self.condition(Condition.APPLIED)
        if applied.get("status") == "False" and not self.finished:
            return str(applied.get("reason", ""))
        return str(self.status.get("reason", ""))

    @property
    def message(self) -> str:
        """The same in words that say what to do."""
        applied = self.condition(Condition.APPLIED)
        if applied.get("status") == "False" and not self.finished:
            return str(applied.get("message", ""))
        return str(self.status.get("message", ""))

    @property
    def finished(self) -> bool:
        """Whether it has ended, for ever; of a phase that we do not know, nobody can tell."""
        return self.phase in {Phase.SUCCEEDED, Phase.FAILED}

    @property
    def started(self) -> bool:
        """Whether it runs or has run: then only its times to keep things can be changed."""
        return bool(self.status.get("startedAt")) or self.finished

    @property
    def owner(self) -> str:
        """Whose it is; empty for a job of a release that knew no owners."""
        return str(self.spec.get("owner", ""))

    @property
    def suspended(self) -> bool:
        """Whether it waits to be let go."""
        return bool(self.spec.get("suspend", False))

    @property
    def claim(self) -> str:
        """The claim of its volume."""
        return claim_name(self.name)

    @property
    def gpus(self) -> int:
        """How many GPUs it asks for."""
        return number((self.spec.get("resources") or {}).get("gpu", 1))

    @property
    def input_path(self) -> str:
        """Where it reads its input."""
        return str((self.spec.get("input") or {}).get("path") or DEFAULT_INPUT)

    @property
    def artifact_path(self) -> str:
        """Where its result is; empty while there is none."""
        return str(self.status.get("artifactPath", ""))

    def moment(self, name: str) -> datetime | None:
        """A time of its status, such as `artifactsExpireAt`."""
        return moment(self.status.get(name))

    def condition(self, kind: str) -> dict[str, Any]:
        """A condition of its status; empty where there is none."""
        return find(self.status, kind)


DEFAULT_INPUT = "/artifacts/input.jpg"
"""Where a job reads that names no input: the default of the kind's schema."""
