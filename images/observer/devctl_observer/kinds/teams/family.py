"""The family of DevServerTeams: what their queues, volumes and members' rights depend on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from lightkube.resources.core_v1 import PersistentVolume, PersistentVolumeClaim

from devctl.api.applied import APPLIED, READY
from devctl.api.budgets import OVER_BUDGET
from devctl.api.conditions import find
from devctl.api.queues import TEAM_LABEL
from devctl_observer.control.process import Process
from devctl_observer.control.role_controller import Cause, Known
from devctl_observer.control.standard import Child, Standard, StandardController, StandardFamily
from devctl_observer.judging.budgets import Spent, budget_transitions, until_next_month
from devctl_observer.judging.model import meta_of
from devctl_observer.kinds.flavors.family import Flavors
from devctl_observer.kinds.teams.model import KIND, Team
from devctl_observer.kinds.teams.observed import files_key, made, members_claims, volume_of
from devctl_observer.kinds.teams.status import team_status
from devctl_observer.kinds.users.family import Users
from devctl_observer.kinds.users.model import User
from devctl_observer.watching.children import Owner
from devctl_observer.watching.store import Key, Store


class TeamController(StandardController[Team]):
    """Runs a team's role again when a flavor of the team, a member, or a volume has changed."""

    def __init__(
        self, standard: Standard[Team], flavors: Flavors, users: Users, process: Process
    ) -> None:
        """Start without any state."""
        super().__init__(standard, process)
        self._flavors, self._users = flavors.store, users.store

    def _cause(self, item: Team, known: Known) -> Cause:
        if (cause := super()._cause(item, known)) or item.going:
            return cause
        names = {quota.name for quota in item.spec.flavors}
        shapes = sorted(
            (f.metadata.name, _text(f.pod_spec.get("resources")), f.spec.preemptible)
            for f in self._flavors
            if f.metadata.name in names
        )
        needs = "needs", _text(shapes), _text(self._members(item))
        return (*needs, _text(self._volumes(item))) if item.spec.shared_storage else needs

    def _members(self, item: Team) -> list[tuple[str, str]]:
        """Who has rights in which namespace; nobody while members have none."""
        if item.spec.members == "none":
            return []
        return sorted((u.namespace, u.spec.username) for u in _set_up(item, self._users))

    def _volumes(self, item: Team) -> tuple[str, list[str], list[str]]:
        """The volume with the files, the namespaces of members, and the claims that they have."""
        found = members_claims(self._children.of(Owner(TEAM_LABEL, Key("", item.metadata.name))))
        return (
            volume_of(self._children.claims.get(files_key(item))),
            sorted(user.namespace for user in _set_up(item, self._users)),
            [meta_of(claim.metadata).uid for claim in found],
        )


class Teams(StandardFamily[Team]):
    """Whom a change concerns: the team, and the queues of its members."""

    def __init__(self, flavors: Flavors, users: Users, process: Process) -> None:
        """Start without any state."""
        self.spent: Callable[[Team], Spent | None] = lambda _: None
        """What a team has spent of its budget; None if nobody accounts."""
        status = partial(team_status, flavors=_Names(flavors), spent=self._spent)
        makes = partial(_made, users=users.store, claims=process.children.claims)
        standard = Standard(
            *(KIND, TEAM_LABEL, makes, [PersistentVolume], status),
            own=(READY, OVER_BUDGET),
            events=budget_transitions,
            again=self._again,
        )
        controller = TeamController(standard, flavors, users, process)
        super().__init__(standard, process, controller)
        self._users = users
        users.team = self._member
        users.controller.teams = self.store
        flavors.teams = self.look_again

    def changed(self, old: Team | None, new: Team | None) -> None:
        """Look at a team, and at its members if its flavors have changed."""
        super().changed(old, new)
        if old and new and old.spec.flavors == new.spec.flavors:
            return
        names = {side.metadata.name for side in (old, new) if side}
        for user in self._users.store:
            if user.spec.team in names:
                self._users.queue.add(Key("", user.metadata.name))

    def _spent(self, team: Team) -> Spent | None:
        return self.spent(team)

    def _again(self, team: Team, now: datetime) -> float | None:
        """When the month ends, a budget is free again."""
        spent = self.spent(team) if team.spec.budget else None
        return until_next_month(now, spent.month) if spent else None

    def _member(self, team: str) -> None:
        """Look at the team of a user who has changed."""
        self.queue.add(Key("", team))


class _Names:
    """The names of all flavors, as they are when asked."""

    def __init__(self, flavors: Flavors) -> None:
        self._store = flavors.store

    def __contains__(self, name: object) -> bool:
        return self._store.get(Key("", str(name))) is not None


def _made(
    team: Team, users: Iterable[User], claims: Store[PersistentVolumeClaim]
) -> Sequence[Child]:
    """The claims and volumes that the role creates."""
    namespaces = [user.namespace for user in _set_up(team, users)]
    return made(team, namespaces, claims.get(files_key(team)))


def _set_up(team: Team, users: Iterable[User]) -> list[User]:
    """The members whose namespace exists and is theirs."""
    ours = (user for user in users if user.spec.team == team.metadata.name)
    return [user for user in ours if find(user.status, APPLIED).get("status") == "True"]


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)
