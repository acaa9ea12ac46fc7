"""What the ledger watches: pods, and whatever their price and idleness depend on."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import msgspec
from lightkube.models.core_v1 import Pod

from devctl.api.placing import NodeFacts
from devctl.api.usage import month_before, month_of
from devctl_observer.control.family import Family
from devctl_observer.control.process import Process
from devctl_observer.judging.budgets import MOST_NOTICES, Budget, Spent, notice
from devctl_observer.kinds.flavors.family import Flavors
from devctl_observer.kinds.flavors.model import Flavor
from devctl_observer.kinds.gpu_workload.family import GPUWorkloads
from devctl_observer.kinds.jobs.family import Jobs
from devctl_observer.kinds.servers.family import Servers
from devctl_observer.kinds.servers.model import Server
from devctl_observer.kinds.teams.family import Teams
from devctl_observer.kinds.teams.model import Team
from devctl_observer.kinds.usage.book import Usage
from devctl_observer.kinds.usage.controller import UsageController
from devctl_observer.kinds.usage.figures import budgets_over
from devctl_observer.kinds.usage.observed import Sources
from devctl_observer.kinds.usage.running import Running
from devctl_observer.kinds.usage.totals import Totals
from devctl_observer.kinds.users.family import Users
from devctl_observer.kinds.users.model import User
from devctl_observer.kinds.vllm_run.family import VLLMRuns
from devctl_observer.watching.reflector import Followed
from devctl_observer.watching.store import Key


class Usages(Family[Usage]):
    """The family of Usage objects; its queue has namespaces."""

    controller: UsageController

    def __init__(
        self,
        flavors: Flavors,
        run: tuple[Servers, Jobs, GPUWorkloads, VLLMRuns],
        payers: tuple[Users, Teams],
        process: Process,
    ) -> None:
        """Start without any state."""
        servers, jobs, workloads, runs = run
        sources = Sources(
            servers=servers.caches,
            jobs=jobs.store,
            flavors=flavors.store,
            workloads=workloads.store,
            runs=runs.store,
            users=payers[0].store,
            nodes=process.children.nodes,
        )
        self.running = Running(sources, process.clock)
        super().__init__(UsageController(self.running, process))
        self._clock = process.clock
        self._totals = Totals()
        self._users, self._teams = users, teams = payers
        users.spent, teams.spent = self._of_user, self._of_team
        self.controller.notices = self._notices
        budgets_over(user=users.store, team=teams.store)
        self.controller.listeners.append(self._book)
        servers.controller.listeners.append(self._server)
        flavors.controller.listeners.append(self._flavor)

    @property
    def first(self) -> Followed:
        """The books of this month and the last: years of others are not needed."""
        return super().first._replace(keep=self._is_recent)

    def changed(self, old: Usage | None, new: Usage | None) -> None:
        """Settle a book in which something is open, and one that somebody else has changed."""
        if old or (new and new.book.open):
            self._settle([(new or old).metadata.namespace])  # type: ignore[union-attr]

    def pod(self, old: Pod | None, new: Pod | None) -> None:
        """Note a change of a pod."""
        self._settle(self.running.pod(old, new))

    def node(self, old: NodeFacts | None, new: NodeFacts | None) -> None:
        """Note which flavors select a node now: they say what its GPUs cost."""
        if new and (old is None or old.labels != new.labels):
            self._settle(self.running.node(new.name))

    def look_again(self) -> None:
        """The ledger's clock cannot be set."""

    def _book(self, old: Usage | None, new: Usage | None) -> None:
        """Look at users and teams with a budget whose spending has changed."""
        if (item := new or old) is None:
            return
        key = Key(item.metadata.namespace, item.metadata.name)
        changed = self._totals.note(key, new.book if new else None)
        for user in self._users.store:
            if user.spec.budget and ("owner", user.spec.username) in changed:
                self._users.queue.add(Key("", user.metadata.name))
        for kind, name in changed:
            if kind == "team" and self._teams.store.get(Key("", name)):
                self._teams.queue.add(Key("", name))

    def _notices(self, namespace: str) -> list[str]:
        """What the user of a namespace should know, who cannot read users and teams."""
        found = []
        for user in self._users.store:
            if user.namespace == namespace:
                team = self._teams.store.get(Key("", user.spec.team))
                found.append(notice(f"user `{user.metadata.name}`", user.status))
                found.append(notice(f"team `{user.spec.team}`", team.status if team else {}))
        return [line for line in found if line][:MOST_NOTICES]

    def _of_user(self, user: User) -> Spent:
        return self._spent("owner", user.spec.username, user.spec.budget)

    def _of_team(self, team: Team) -> Spent:
        return self._spent("team", team.metadata.name, team.spec.budget)

    def _spent(self, kind: str, name: str, budget: Budget | None) -> Spent:
        month = month_of(int(self._clock.now().timestamp()))
        currency = budget.currency if budget else ""
        return Spent(month, self._totals.spent(month, kind, name, currency))

    def _server(self, old: Server | None, new: Server | None) -> None:
        self._settle(self.running.server(old, new))

    def _flavor(self, old: Flavor | None, new: Flavor | None) -> None:
        if new and (old is None or _priced(old) != _priced(new)):
            self._settle(self.running.flavor(new.metadata.name))

    def _settle(self, namespaces: Iterable[str]) -> None:
        for namespace in namespaces:
            self.queue.add(Key(namespace, ""))

    def _is_recent(self, obj: Any) -> bool:
        month = month_of(int(self._clock.now().timestamp()))
        return str(obj.metadata.name) >= month_before(month)


def _priced(flavor: Flavor) -> Hashable:
    """What prices depend on: that of GPUs also on which nodes it selects, and for how many."""
    return flavor.price, msgspec.json.encode((flavor.spec.node_selector, flavor.spec.resources))
