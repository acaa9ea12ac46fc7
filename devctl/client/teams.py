"""Teams of users who share a quota, for administrators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from devctl.api.queues import COHORT, FLAVOR_LABEL, NAME, NAME_RULE, TEAM_LABEL, label_value
from devctl.api.teams import claim_name
from devctl.client.objects import (
    Field,
    NamedCollection,
    Provisioned,
    camel_case,
    mapping,
    number,
    text,
)
from devctl.errors import NotFoundError, UsageError
from devctl.kube import resources

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Unpack

    from devctl.kube.cluster import Object

Members = Literal["none", "view", "stop"]
_KIND = resources.DevServerTeam


class Spec(TypedDict, total=False):
    """What an administrator decides for a team."""

    flavors: Sequence[Mapping[str, str | int]]
    """The quota: `name`, `pods` and perhaps `borrow` of each flavor."""
    cohort: str
    members: Members
    shared_storage: Mapping[str, str] | None
    """`size` and `storageClassName` of a volume that members can mount."""
    budget: Mapping[str, str | int | bool] | None
    """`perMonth`, `currency`, `warnAtPercent` and `refuse`."""


def _quotas(value: Any) -> list[dict[str, Any]]:
    return list(value or [])


def _texts(value: Any) -> list[str]:
    return [str(each) for each in value or []]


@dataclass(frozen=True)
class Team(Provisioned):
    """A team at one moment."""

    quotas = Field(_quotas, "spec", "flavors")
    cohort = Field(text, "spec", "cohort")
    members = Field(text, "spec", "members")
    shared_storage = Field(mapping, "spec", "sharedStorage")
    namespaces = Field(_texts, "status", "sharedStorage", "namespaces")
    """Namespaces in which members can mount the shared volume; at most 1000."""

    @property
    def claim(self) -> str:
        """The claim that members mount, the same in each namespace; empty without a volume."""
        return claim_name(self.name) if self.shared_storage else ""


@dataclass(frozen=True)
class Queue:
    """How many servers use a team's quota of a flavor, and wait for it."""

    flavor: str
    """As a label: see devctl.api.queues.label_value."""
    running: int
    waiting: int


class Teams(NamedCollection[Team]):
    """The teams of a cluster. Without its team, a server continues, but cannot start.

    ::

        client.teams.create("vision", flavors=[{"name": "gpu-large", "pods": 8}])
        client.users.change("alice", team="vision")
    """

    _kind, _item = _KIND, Team
    _noun, _see = "team", "see the teams with `devctl admin team list`"

    @staticmethod
    def _check_name(name: str) -> None:
        if not NAME.fullmatch(name):
            raise UsageError(f"`{name}` cannot be a team's name", f"names {NAME_RULE}")

    def create(self, name: str, *, dry_run: bool = False, **spec: Unpack[Spec]) -> Team:
        """Create a team; users join it with `users.change(NAME, team=...)`.

        Raises:
            AlreadyExistsError: There is a team of that name.
        """
        self._check_name(name)
        made = {"metadata": {"name": name}, "spec": {"cohort": COHORT, **camel_case(spec)}}
        return Team(self._cluster.create(_KIND, made, dry_run=dry_run))

    def change(self, name: str, **spec: Unpack[Spec]) -> Team:
        """Change what is decided for a team, and leave the rest."""
        self._check_name(name)
        return Team(self._cluster.patch(_KIND, name, {"spec": camel_case(spec)}))

    def users(self, name: str) -> list[str]:
        """The names of the members."""
        found = self._cluster.list(resources.DevServerUser)
        return sorted(u["metadata"]["name"] for u in found if u["spec"].get("team") == name)

    def queues(self, name: str) -> Mapping[str, Queue]:
        """The queue of each flavor of a team; empty where Kueue is not installed."""
        try:
            found = [
                *map(_queue, self._cluster.list(resources.ClusterQueue, None, {TEAM_LABEL: name}))
            ]
        except NotFoundError:
            return {}
        by_label = {queue.flavor: queue for queue in found}
        flavors = (quota["name"] for quota in self.get(name).quotas)
        return {f: by_label[label_value(f)] for f in flavors if label_value(f) in by_label}


def _queue(raw: Object) -> Queue:
    status = raw.get("status") or {}
    label = (raw["metadata"].get("labels") or {}).get(FLAVOR_LABEL, "")
    return Queue(
        label, number(status.get("reservingWorkloads")), number(status.get("pendingWorkloads"))
    )
