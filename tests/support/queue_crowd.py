"""Many users of several teams who all want to work at once: each server waits, runs, and stops."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

from support.queue_ledger import Ledger
from support.servers import SMALL, DevServer, apply_flavor, wait_until

from devctl.api.devserver_user import namespace_of
from devctl.api.queues import Priority, cluster_queue, local_queue

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.commands import Kubectl

Thing = dict[str, Any]


@dataclass
class Crowd:
    """Teams, users and servers, of a namesake flavor.

    Attributes:
        kubectl: As an administrator.
        name: What all names begin with.
        teams: How many.
        users: How many, in turn of the first, second, … team.
        servers: How many, in turn of the first, second, … user.
        pods: How many pods of each team may run at once.
        seconds: How long to wait for anything.
    """

    kubectl: Kubectl
    name: str
    teams: int
    users: int
    servers: int
    pods: int
    seconds: float = 180.0
    ledger: Ledger = field(init=False)
    asked: dict[str, float] = field(default_factory=dict)
    """When each server's Workload came."""
    started: dict[str, float] = field(default_factory=dict)
    """When each server's last pod was ready."""
    told: dict[str, dict[str, float]] = field(default_factory=dict)
    """When each server's status said so: `Queued` and `Ready`."""
    _failures: list[BaseException] = field(default_factory=list)
    _ended: threading.Event = field(default_factory=threading.Event)
    _draining: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        """Know what there will be."""
        names = [f"{self.name}-{n}" for n in range(self.users)]
        self._members = dict(zip(names, cycle(self._teams()), strict=False))
        queues = {
            (namespace_of(user), local_queue(self.name)): cluster_queue(team, self.name)
            for user, team in self._members.items()
        }
        quotas = {cluster_queue(team, self.name): self.pods for team in self._teams()}
        self.ledger = Ledger(quotas, queues)
        self._servers = {
            f"{namespace_of(user)}/server-{n}": self._server(user, n)
            for n, user in enumerate(islice(cycle(names), self.servers))
        }

    def admit(self) -> None:
        """Create teams and users, and wait until each has a queue."""
        apply_flavor(self.kubectl, self.name, resources=SMALL)
        quota = [{"name": self.name, "pods": self.pods, "borrow": 0}]
        for team in self._teams():
            self._apply("DevServerTeam", team, {"flavors": quota})
        for user, team in self._members.items():
            self._apply("DevServerUser", user, {"username": user, "team": team, "priority": "high"})
        wanted = {space for space, _ in self.ledger.queues}

        def missing() -> set[str]:
            found = self.kubectl.api.list("localqueue")
            return wanted - {queue["metadata"]["namespace"] for queue in found}

        wait_until(lambda: not missing(), lambda: f"queues of {missing()}", self.seconds)

    def work(self) -> None:
        """Create all servers, and stop each as soon as it runs, until all have run."""
        for watch in (self._watch_workloads, self._watch_pods, self._watch_servers):
            # Of its own accord a watch ends with the next event only: nobody waits for that.
            threading.Thread(target=self._guard, args=(watch,), daemon=True).start()
        try:
            self._work()
        finally:
            self._ended.set()

    def _work(self) -> None:
        for server in self._servers.values():
            server.apply()
        room = min(self.servers, self.teams * self.pods)
        wait_until(
            lambda: len(self.asked) == self.servers and len(self._ran()) == room,
            lambda: f"all wait but {room} that run: {len(self.asked)}, {len(self._ran())}",
            self.seconds,
        )
        self._draining.set()
        for key in self._ran():
            self._stop(key)
        # The watch of Workloads may be behind that of servers.
        wait_until(
            lambda: len(self._ran()) == self.servers <= len(self.ledger.turns),
            lambda: (
                f"all have run: {sorted(self._servers.keys() - self._ran())}, "
                f"{len(self.ledger.turns)} turns"
            ),
            self.seconds,
        )

    def remove(self) -> None:
        """Delete all of it."""
        api = self.kubectl.api
        for user in self._members:
            api.delete("devserveruser", user)
            api.delete("namespace", namespace_of(user))
        for team in self._teams():
            api.delete("devserverteam", team)
        api.delete("devserverflavor.devops.yourcompany.com", self.name)

    def delays(self, reason: str, since: dict[str, float]) -> list[float]:
        """Seconds until each status said so, in ascending order."""
        return sorted(
            at[reason] - since[key]
            for key, at in self.told.items()
            if reason in at and key in since and at[reason] >= since[key]
        )

    def _teams(self) -> list[str]:
        return [f"{self.name}-{n}" for n in range(self.teams)]

    def _server(self, user: str, number: int) -> DevServer:
        spec = {
            "owner": user,
            "flavor": self.name,
            "image": "none/serve:1",
            "team": self._members[user],
            "priority": list(Priority)[number // self.users % len(Priority)],
            "persistentHomeSize": "1Mi",
        }
        return DevServer(self.kubectl, namespace_of(user), spec, f"server-{number}")

    def _apply(self, kind: str, name: str, spec: Thing) -> None:
        api_version = "devops.yourcompany.com/v1"
        self.kubectl.api.apply(
            {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec}
        )

    def _ran(self) -> set[str]:
        if self._failures:
            raise self._failures[0]
        return {key for key, at in list(self.told.items()) if "Ready" in at}

    def _stop(self, key: str) -> None:
        server = self._servers[key]
        change = {"spec": {"stopped": True}}
        self.kubectl.api.patch("devserver", server.name, change, server.namespace)

    def _guard(self, watch: Callable[[], None]) -> None:
        try:
            watch()
        except BaseException as failure:  # noqa: BLE001 - pytest's failures are such
            self._failures.append(failure)

    def _watch(self, kind: str, see: Callable[[str, Thing], None]) -> None:
        for event, thing in self.kubectl.api.watch(kind, None, self.seconds * 3):
            if self._ended.is_set():
                return
            if thing["metadata"]["namespace"].startswith(namespace_of(self.name)):
                see(event, thing)

    def _watch_workloads(self) -> None:
        def see(event: str, thing: Thing) -> None:
            self.ledger.workload(event, thing)
            # Pods own it, too, once Kueue has seen them.
            owners = {o["kind"]: o["name"] for o in thing["metadata"].get("ownerReferences", [])}
            if server := owners.get("StatefulSet"):
                self.asked.setdefault(_key(thing, server), time.monotonic())

        self._watch("workload", see)

    def _watch_pods(self) -> None:
        def see(event: str, thing: Thing) -> None:
            self.ledger.pod(event, thing)
            conditions = thing.get("status", {}).get("conditions", [])
            if any((c["type"], c["status"]) == ("Ready", "True") for c in conditions):
                server = thing["metadata"]["name"].rpartition("-")[0]
                self.started.setdefault(_key(thing, server), time.monotonic())

        self._watch("pod", see)

    def _watch_servers(self) -> None:
        def see(_event: str, thing: Thing) -> None:
            key, now = _key(thing, thing["metadata"]["name"]), time.monotonic()
            at = self.told.setdefault(key, {})
            for condition in thing.get("status", {}).get("conditions", []):
                if condition["type"] != "Ready":
                    continue
                if condition["reason"] == "Queued":
                    at.setdefault("Queued", now)
                if condition["status"] == "True" and "Ready" not in at:
                    at["Ready"] = now
                    if self._draining.is_set():
                        self._stop(key)

        self._watch("devserver", see)


def _key(thing: Thing, name: str) -> str:
    return f"{thing['metadata']['namespace']}/{name}"
