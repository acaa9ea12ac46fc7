"""A DevServerTeam, as far as the observer reads it."""

from __future__ import annotations

import msgspec

from devctl.api.kinds import TEAM
from devctl_observer.control.kind import kind_of
from devctl_observer.judging.budgets import Budget
from devctl_observer.judging.model import Base, Item


class Quota(Base, frozen=True):
    """The quota of one flavor."""

    name: str
    pods: int


class SharedStorage(Base, frozen=True):
    """The volume that members share."""

    storage_class_name: str = ""


class TeamSpec(Base, frozen=True):
    """The administrator's specification."""

    flavors: list[Quota] = msgspec.field(default_factory=list)
    members: str = "none"
    shared_storage: SharedStorage | None = None
    budget: Budget | None = None


class Team(Item, frozen=True):
    """A DevServerTeam."""

    spec: TeamSpec = TeamSpec()


KIND = kind_of(TEAM, Team)
