"""A server as the cluster knows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from devctl.api.conditions import find
from devctl.api.devserver import Condition, Phase, home_names
from devctl.api.pod_spec import shape
from devctl.client.named import Named, known, moment, number

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime


@dataclass(frozen=True)
class Replica:
    """One pod of a server, as the server's status has it.

    Attributes:
        ordinal: Which one; 0 is the first.
        pod: Its pod.
        phase: What it does; as it is where a newer release has brought the word.
        reason: Why, in one word.
        message: Why, in words that say what to do.
        node: Where it runs; empty where it does not.
        ip: Its address; empty where it has none.
        restarts: How often its container ended and was started anew.
    """

    ordinal: int
    pod: str
    phase: Phase | str
    reason: str = ""
    message: str = ""
    node: str = ""
    ip: str = ""
    restarts: int = 0


@dataclass(frozen=True)
class Server(Named):
    """A server at one moment."""

    @property
    def spec(self) -> dict[str, Any]:
        """What its owner wants."""
        found: dict[str, Any] = self.raw.get("spec") or {}
        return found

    @property
    def status(self) -> dict[str, Any]:
        """What the observer sees; empty until it has looked."""
        found: dict[str, Any] = self.raw.get("status") or {}
        return found

    @property
    def owner(self) -> str:
        """Who it belongs to."""
        return str(self.spec.get("owner", ""))

    @property
    def flavor(self) -> str:
        """The flavor that it asks for; empty where it is to be the default one."""
        return str(self.spec.get("flavor", ""))

    @property
    def image(self) -> str:
        """Its container image."""
        return str(self.spec.get("image", ""))

    @property
    def mode(self) -> str:
        """One pod (`standalone`), or several that train together (`distributed`)."""
        return str(self.spec.get("mode", "standalone"))

    @property
    def size(self) -> int:
        """How many pods it has while it runs."""
        return self._shape[0]

    @property
    def processes(self) -> int:
        """How many processes a training has in each pod."""
        return self._shape[1]

    @property
    def stopped(self) -> bool:
        """Whether it is to be stopped."""
        return bool(self.spec.get("stopped", False))

    @property
    def ssh(self) -> bool:
        """Whether a shell can be opened over SSH."""
        return bool(self.spec.get("enableSSH", True))

    @property
    def lifecycle(self) -> dict[str, Any]:
        """When it stops or goes by itself."""
        found: dict[str, Any] = self.spec.get("lifecycle") or {}
        return found

    @property
    def phase(self) -> Phase | str:
        """What it does, in one word; as it is where a newer release has brought the word."""
        return known(Phase, self.status.get("phase") or Phase.PENDING)

    @property
    def ready(self) -> bool:
        """Whether all its pods can be used."""
        return self.condition(Condition.READY).get("status") == "True"

    @property
    def reason(self) -> str:
        """Why it is in its phase, in one word; empty until somebody has looked."""
        return str(self._why.get("reason", ""))

    @property
    def message(self) -> str:
        """The same in words that say what to do."""
        return str(self._why.get("message", ""))

    @property
    def seen(self) -> bool:
        """Whether its status is about its spec as it is now, and not as it was before."""
        generation = number(self.raw["metadata"].get("generation"))
        ready = self.condition(Condition.READY)
        return bool(ready) and number(ready.get("observedGeneration")) >= generation

    @property
    def ready_replicas(self) -> int:
        """How many of its pods can be used."""
        return number(self.status.get("readyReplicas"))

    @property
    def replicas(self) -> Sequence[Replica]:
        """Each pod that should be there or still is, the first one first."""
        found = map(_replica, self.status.get("replicaStatuses") or [])
        return sorted(found, key=lambda replica: replica.ordinal)

    @property
    def homes(self) -> list[str]:
        """The claims of its homes, by replica."""
        return home_names(self.name, self.size)

    @property
    def started_at(self) -> datetime | None:
        """When a node took the first of the present pods."""
        return moment(self.status.get("startedAt"))

    @property
    def expires_at(self) -> datetime | None:
        """When it is deleted; None where it never is by itself."""
        return moment(self.status.get("expiresAt"))

    def pods(self) -> list[str]:
        """The names of the pods that it has while it runs, by replica."""
        return [f"{self.name}-{ordinal}" for ordinal in range(self.size)]

    def condition(self, kind: str) -> dict[str, Any]:
        """A condition of its status; empty where there is none."""
        return find(self.status, kind)

    @property
    def _shape(self) -> tuple[int, int]:
        try:
            return shape(self.spec)
        except ValueError:
            # A newer release lays servers out in a way of its own: its status says how many.
            return max(1, len(self.status.get("replicaStatuses") or [])), 1

    @property
    def _why(self) -> dict[str, Any]:
        """What says why: the observer, or where it has not looked yet the role that failed."""
        ready, applied = self.condition(Condition.READY), self.condition(Condition.APPLIED)
        return applied if not ready and applied.get("status") == "False" else ready


def _replica(said: dict[str, Any]) -> Replica:
    """A pod as a status has it; what is missing is empty."""
    reason, message, node, ip = (
        str(said.get(key) or "") for key in ("reason", "message", "node", "ip")
    )
    return Replica(
        ordinal=number(said.get("ordinal")),
        pod=str(said.get("pod") or ""),
        phase=known(Phase, said.get("phase") or Phase.PENDING),
        reason=reason,
        message=message,
        node=node,
        ip=ip,
        restarts=number(said.get("restarts")),
    )
