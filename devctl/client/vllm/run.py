"""A VLLMRun as the API server returns it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from devctl.api import vllm_run as words
from devctl.client.objects import Explained, Field, mapping, moment, number, phase_of, text
from devctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

NOTES = "checkout.devctl/"
"""The prefix of annotations that say what is known of a run's checkout where it was started."""
BRANCH, CHANGES = f"{NOTES}branch", f"{NOTES}changes"
_NAME = re.compile(rf"[a-z]([-a-z0-9]{{0,{words.LONGEST_NAME - 2}}}[a-z0-9])?", re.ASCII)


@dataclass(frozen=True)
class VLLMRun(Explained):
    """A VLLMRun at one moment."""

    phase = Field(phase_of(words.Phase), "status", "phase")
    """A plain string if only a newer release knows it."""
    port = Field(number, "spec", "port")
    """Where its program serves; 0 if it serves nothing."""
    node = Field(text, "status", "node")
    """Empty until its GPUs are allocated."""
    url = Field(text, "status", "url")
    """Where it is served within the cluster; empty while it is not."""
    checkout = Field(mapping, "spec", "checkout")
    """What its pod builds of a repository: `commit`, `capsule`, `package`."""
    cache = Field(mapping, "status", "cache")
    """What its node had ready, and the seconds that this saved; empty until it has a node."""
    _command = Field(lambda value: list(value or []), "spec", "command")
    _devices = Field(lambda value: list(value or []), "status", "devices")

    @property
    def gpus(self) -> int:
        """How many GPUs it claims."""
        return words.gpus_of(self.spec)

    @property
    def command(self) -> Sequence[str]:
        """Its program and the arguments."""
        return self._command

    @property
    def image(self) -> str:
        """Its image, or the image's name in the CachePlan."""
        return str(self.spec.get("image") or self.spec.get("imageName") or "")

    @property
    def branch(self) -> str:
        """The branch that its checkout was on; empty if that is not known."""
        return self._note(BRANCH)

    @property
    def changes(self) -> str:
        """How many files of its checkout had changed, in words; empty if that is not known."""
        return self._note(CHANGES)

    def _note(self, name: str) -> str:
        return str(mapping(self.raw["metadata"].get("annotations")).get(name, ""))

    @property
    def devices(self) -> Sequence[Mapping[str, Any]]:
        """Its GPUs, each with `index`, `uuid`, `model` and `node`."""
        return self._devices

    @property
    def pod(self) -> str:
        """The name of its pod, whether or not there is one."""
        return words.pod_name(self.name)

    @property
    def started(self) -> bool:
        """Whether its program has started, so that it may have printed something."""
        return bool(self.status.get("startedAt"))

    @property
    def ready(self) -> bool:
        """Whether it is served; without a port, whether its program runs."""
        return self.condition(words.Condition.READY).get("status") == "True"

    @property
    def finished(self) -> bool:
        """Whether it has ended; False for a phase that only a newer release knows."""
        return self.phase in words.ENDS

    @property
    def exit_code(self) -> int | None:
        """Its program's; None if that has not ended, or was ended by something else."""
        found = self.status.get("exitCode")
        return None if found is None else number(found)

    def moment(self, name: str) -> datetime | None:
        """A time in its status, such as `servedAt`."""
        return moment(self.status.get(name))

    @property
    def _why(self) -> dict[str, Any]:
        """A role that failed, else the status."""
        applied = self.condition(words.Condition.APPLIED)
        failed = applied.get("status") == "False" and not self.finished
        return applied if failed else self.status


def check_name(name: str) -> None:
    """Raise UsageError unless a VLLMRun can have this name."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"`{name}` cannot be a run's name",
            f"a name has to have at most {words.LONGEST_NAME} lower-case letters, digits and '-',"
            " start with a letter and end without '-'",
        )
