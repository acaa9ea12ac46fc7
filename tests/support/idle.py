"""A stand-in for the agents of nodes: a plane has no node on which one could measure anything."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from support.servers import wait_until

from devctl.api.kinds import NODE_ACTIVITY
from devctl.api.node_activity import ALWAYS_REPORTED, Signal

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.api import Api
    from support.plane.parts import ObserverProcess
    from support.servers import DevServer

Thing = dict[str, Any]
_A_WHILE, _WHILES = 5, 4
"""Seconds, and how often they pass: longer than any owner is warned here, and no report is old."""
ACTIVITY = f"{NODE_ACTIVITY.plural}.{NODE_ACTIVITY.group}"


def pod_report(uid: str, idle: float, unknown: str = "", probe: float | None = None) -> Thing:
    """What an agent reports of a pod; one signal may be unknown, and a probe's has its own age."""
    ages = dict.fromkeys(ALWAYS_REPORTED, idle) | ({} if probe is None else {Signal.PROBE: probe})
    return {
        "uid": uid,
        "idleSeconds": 0 if unknown else int(min(ages.values())),
        "signals": [
            {"type": kind, "idleSeconds": 0, "unknown": True, "detail": "cgroup: no such file"}
            if kind == unknown
            else {"type": kind, "idleSeconds": int(age), "detail": "python (pid 7)"}
            for kind, age in sorted(ages.items())
        ],
    }


@dataclass
class Agents:
    """The agents of all nodes.

    Attributes:
        api: The API server, as an administrator.
        idle: For how long each pod has been idle, by its UID; a function is called again for each
            report.
        unknown: The signal of a pod that cannot be read, by its UID.
        probes: For how long the activity probe of a pod has said that it is idle, by its UID.
        observer: Whose time can pass at once.
    """

    api: Api
    idle: dict[str, Callable[[], float]] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
    probes: dict[str, Callable[[], float]] = field(default_factory=dict)
    observer: ObserverProcess | None = None
    _instance: str = field(default_factory=lambda: uuid4().hex)
    _sequence: int = 0

    def quiet(self, server: DevServer, seconds: float = 500, rank: int = 0) -> str:
        """Have a replica be idle, for so long by now; its pod's UID."""
        uid, began = uid_of(server, rank), self._now()
        self.idle[uid] = lambda: seconds + self._now() - began
        return uid

    def _now(self) -> float:
        return time.monotonic() + (self.observer.passed if self.observer else 0)

    def report(self, node: str) -> None:
        """Report on all pods that are known, as the agent of one node."""
        self._sequence += 1
        pods = [self._report(uid, age()) for uid, age in self.idle.items()]
        status = {"instance": self._instance, "sequence": self._sequence, "pods": pods}
        self.api.patch(ACTIVITY, node, {"status": status}, sub="status")

    def _report(self, uid: str, age: float) -> Thing:
        probe = self.probes.get(uid)
        return pod_report(uid, age, self.unknown.get(uid, ""), probe() if probe else None)

    def report_until(
        self, true: Callable[[], bool], what: str, *nodes: str, seconds: float = 90
    ) -> None:
        """Report every second until something is true."""
        until = time.monotonic() + seconds
        while not true():
            if time.monotonic() > until:
                pytest.fail(f"not within {seconds:.0f} s: {what}")
            for node in nodes:
                self.report(node)
            time.sleep(1)

    def let_pass(self, true: Callable[[], bool], what: str, *nodes: str) -> None:
        """Have the time of a warning pass at once, with reports, and wait for something."""
        assert self.observer is not None
        for _ in range(_WHILES):
            if true():
                return
            for node in nodes:
                self.report(node)
            self.observer.pass_time(_A_WHILE)
        self.report_until(true, what, *nodes)


def uid_of(server: DevServer, rank: int = 0) -> str:
    """The UID of a replica's pod."""
    uid: str = server.get("pod", f"{server.name}-{rank}")[0]["metadata"]["uid"]
    return uid


def node_of(server: DevServer, rank: int = 0) -> str:
    """The node of a replica's pod."""
    node: str = server.get("pod", f"{server.name}-{rank}")[0]["spec"]["nodeName"]
    return node


def is_stopped(server: DevServer) -> bool:
    """Whether its spec says that it is stopped."""
    return bool(server.get("devserver", server.name)[0]["spec"].get("stopped"))


def wait_watched(api: Api, node: str, uid: str, *moments: int) -> None:
    """Wait until a node's agent is asked to report on a pod at certain ages."""

    def asked() -> list[Thing]:
        found = api.get(ACTIVITY, node) or {}
        return [pod for pod in found.get("spec", {}).get("pods", []) if pod["uid"] == uid]

    wanted = [{"uid": uid, "reportAt": list(moments)}] if moments else []
    wait_until(lambda: asked() == wanted, lambda: f"{wanted} of {node}: {asked()}")
