"""The family of DevServerUsers: what the role makes, and who is suspended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from lightkube.resources.core_v1 import LimitRange, Namespace, ResourceQuota, ServiceAccount
from lightkube.resources.networking_v1 import NetworkPolicy
from lightkube.resources.rbac_authorization_v1 import RoleBinding

from devctl.api import devserver_user as names
from devctl.api.applied import READY
from devctl.api.budgets import OVER_BUDGET
from devctl_observer.control.process import Process
from devctl_observer.control.role_controller import Cause, Known
from devctl_observer.control.standard import Child, Standard, StandardController, StandardFamily
from devctl_observer.judging.budgets import Spent, budget_transitions, until_next_month
from devctl_observer.kinds.users.model import KIND, User
from devctl_observer.kinds.users.status import user_status
from devctl_observer.watching.store import Key, Store

_MADE: tuple[tuple[Any, str], ...] = (
    (ResourceQuota, names.QUOTA),
    (ResourceQuota, names.NO_SYSTEM_PRIORITY),
    (ResourceQuota, names.OBJECTS),
    (LimitRange, names.LIMITS),
    (NetworkPolicy, names.NETWORK),
    (ServiceAccount, names.AUTOMATION),
    (RoleBinding, names.ACTS_FOR),
    *((RoleBinding, binding) for binding in names.ACCESS),
)


def made(user: User) -> list[Child]:
    """The children that the role creates."""
    space = user.namespace
    inside = [Child(resource, Key(space, name)) for resource, name in _MADE]
    return [Child(Namespace, Key("", space)), *inside]


USER = Standard(
    KIND,
    names.LABEL,
    made,
    [Namespace, *dict(_MADE)],
    user_status,
    own=(READY, OVER_BUDGET),
    events=budget_transitions,
)


class UserController(StandardController[User]):
    """Runs a user's role again when the flavors of the user's team have changed."""

    teams: Store[Any] = Store()
    """DevServerTeams, once there is a family of them."""

    def _cause(self, item: User, known: Known) -> Cause:
        if (cause := super()._cause(item, known)) or item.going or not item.spec.team:
            return cause
        team = self.teams.get(Key("", item.spec.team))
        return "queues", *(sorted(quota.name for quota in team.spec.flavors) if team else ())


class Users(StandardFamily[User]):
    """Whom a change concerns: the user, their team, and their servers once they are suspended."""

    controller: UserController

    def __init__(self, process: Process) -> None:
        """Start without any state."""
        self.spent: Callable[[User], Spent | None] = lambda _: None
        """What a user has spent of their budget; None if nobody accounts."""
        status = partial(user_status, spent=self._spent)
        standard = replace(USER, status=status, again=self._again)
        super().__init__(standard, process, UserController(standard, process))
        self.team: Callable[[str], None] = lambda _: None
        """Told the team of a user who has changed."""
        self.suspended: dict[str, str] = {}
        """Suspended users by their namespaces."""
        self.concerns: Callable[[str], None] = lambda _: None
        """Told the namespace of a user who has just been suspended."""

    def _spent(self, user: User) -> Spent | None:
        return self.spent(user)

    def _again(self, user: User, now: datetime) -> float | None:
        """When the month ends, a budget is free again."""
        spent = self.spent(user) if user.spec.budget else None
        return until_next_month(now, spent.month) if spent else None

    def changed(self, old: User | None, new: User | None) -> None:
        """Look at a user, and at the servers of one who has just been suspended."""
        super().changed(old, new)
        for team in {side.spec.team for side in (old, new) if side and side.spec.team}:
            self.team(team)
        if old:
            self.suspended.pop(old.namespace, None)
        if new and new.spec.suspended:
            self.suspended[new.namespace] = new.metadata.name
            self.concerns(new.namespace)
