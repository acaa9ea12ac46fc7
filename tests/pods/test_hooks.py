"""Hooks in real pods: the kubelet runs them, and takes their outcome out of the pod."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.servers import TWO_RANKS, DevServer, small_server, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl

    from devctl.local.images import Image

pytestmark = pytest.mark.usefixtures("deployed")

SAVES = """
[ "$PWD $DEVCTL_SERVER $DEVCTL_HOOK" = "/home/dev lab saves" ] || exit 9
[ "$(id -u)" = 1000 ] || exit 8
# The server's programs are still running.
kill -0 "$(cat worker)" || exit 7
echo "rank $RANK" >>saved
"""
HANGS = """#!/bin/sh
trap '' TERM
echo hanging
while :; do sleep 1; done
"""
# Ends only when it is told to, after the hooks.
WORKER = """
nohup sh -c 'echo $$ >worker; trap "echo told >>saved; exit 0" TERM; while :; do sleep 0.1; done' \
  >/dev/null 2>&1 &
while [ ! -s worker ]; do sleep 0.1; done
"""
HOOKS = [{"name": "saves", "script": SAVES}, {"name": "hangs", "script": HANGS, "timeout": "2s"}]


@pytest.fixture
def server(kubectl: Kubectl, namespace: str, images: dict[str, Image]) -> Iterator[DevServer]:
    """Two replicas with hooks and a program each; they run."""
    with small_server(
        kubectl, namespace, images["base"].reference, lifecycle={"hooks": HOOKS}, **TWO_RANKS
    ) as made:
        made.apply()
        made.wait("Ready")
        for rank in (0, 1):
            made.run(f"cd; {WORKER}", rank)
        yield made


def outcomes(server: DevServer) -> list[tuple[Any, ...]]:
    found = server.status.get("hooks", [])
    return [(e["replica"], e["name"], e["event"], e["result"]) for e in found]


def ended(rank: int, event: str) -> list[tuple[Any, ...]]:
    return [(rank, "saves", event, "Succeeded"), (rank, "hangs", event, "TimedOut")]


def test_hooks_run_before_programs_end_and_a_status_says_how(server: DevServer) -> None:
    server.stop()
    expected = [*ended(0, "Stopped"), *ended(1, "Stopped")]
    wait_until(lambda: outcomes(server) == expected, lambda: str(server.status))
    hanged = server.status["hooks"][1]
    assert (hanged["exitCode"], hanged["output"]) == (137, "hanging")
    assert hanged["seconds"] >= 2
    server.start()
    for rank in (0, 1):
        assert server.run("cat saved", rank).splitlines() == [f"rank {rank}", "told"]

    server.run(f"cd; {WORKER}", 1)
    uid = server.uids("pod")["Pod/lab-1"]
    metadata = {"name": "lab-1", "namespace": server.namespace}
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
    path = f"/api/v1/namespaces/{server.namespace}/pods/lab-1/eviction"
    server.kubectl.api.post(path, eviction)
    expected = [*ended(0, "Stopped"), *ended(1, "Evicted")]
    wait_until(lambda: outcomes(server) == expected, lambda: str(server.status))
    server.wait_for_successor(1, uid)


def test_a_hook_cannot_keep_a_deleted_server(server: DevServer) -> None:
    server.delete()

    def reasons() -> set[str]:
        found = server.kubectl.api.list("event", server.namespace)
        return {e["reason"] for e in found if e["involvedObject"]["kind"] == "DevServer"}

    wait_until(lambda: {"HooksSucceeded", "HookTimedOut"} <= reasons(), lambda: str(reasons()))
