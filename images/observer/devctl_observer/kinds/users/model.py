"""A DevServerUser, as far as the observer reads it."""

from __future__ import annotations

from devctl.api.devserver_user import namespace_of
from devctl.api.kinds import USER
from devctl_observer.control.kind import kind_of
from devctl_observer.judging.budgets import Budget
from devctl_observer.judging.model import Base, Item


class UserSpec(Base, frozen=True):
    """The administrator's specification."""

    username: str
    namespace: str | None = None
    suspended: bool = False
    team: str = ""
    budget: Budget | None = None


class User(Item, frozen=True):
    """A DevServerUser."""

    spec: UserSpec

    @property
    def namespace(self) -> str:
        """The namespace of the user's servers and jobs."""
        return namespace_of(self.metadata.name, self.spec.namespace)


KIND = kind_of(USER, User)
