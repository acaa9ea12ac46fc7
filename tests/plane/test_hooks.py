"""Hooks with operator and observer: from a spec into pods, from a pod's last words into a status.

No script runs here: what one would have recorded is the pod's termination message.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from support.jobs import moment
from support.plane.recording import SAYS
from support.servers import TWO_RANKS, DevServer, small_server, wait_until

from devctl.api.hooks import RECORD
from devctl.api.labels import DEVSERVER, HOOKS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl

    from devctl.local.images import Image

pytestmark = pytest.mark.usefixtures("deployed")

Thing = dict[str, Any]
SAVE = {"name": "save", "script": "cp model.pt saved.pt\n"}
LATE = {"name": "late", "script": "sleep 60\n", "timeout": 2}
LIFE = {"hooks": [SAVE, LATE]}
BAD = "begin save\nout no\x1b[31m room\x1e\nend Failed 1 0\nbegin late\nend TimedOut 143 2"
SAID = f"{RECORD}\n{BAD}\n"
GOOD = f"{RECORD}\nbegin save\nend Succeeded 0 1\nbegin late\nend Succeeded 0 1\n"


@pytest.fixture
def server(kubectl: Kubectl, namespace: str, images: dict[str, Image]) -> Iterator[DevServer]:
    """A small server with hooks; it is applied by the test."""
    with small_server(kubectl, namespace, images["base"].reference, lifecycle=LIFE) as made:
        yield made


def says(server: DevServer, text: str, rank: int = 0) -> None:
    """Let a pod end with a termination message."""
    metadata = {"metadata": {"annotations": {SAYS: text}}}
    server.kubectl.api.patch("pod", f"{server.name}-{rank}", metadata, server.namespace)


def outcomes(server: DevServer) -> list[tuple[int, str, str, str]]:
    found = server.status.get("hooks", [])
    return [(e["replica"], e["name"], e["event"], e["result"]) for e in found]


def wait_outcomes(server: DevServer, *expected: tuple[int, str, str, str]) -> None:
    wait_until(lambda: outcomes(server) == list(expected), lambda: str(server.status))


def events(server: DevServer) -> dict[str, str]:
    """The Events about hooks: the message of each reason."""
    found = server.kubectl.api.list("event", server.namespace)
    ours = (event for event in found if event["reason"].startswith("Hook"))
    return {event["reason"]: event["message"] for event in ours}


def failed(rank: int, event: str) -> list[tuple[int, str, str, str]]:
    return [(rank, "save", event, "Failed"), (rank, "late", event, "TimedOut")]


def test_how_the_hooks_of_each_replica_ended(server: DevServer) -> None:
    server.apply(**TWO_RANKS)
    server.wait("Ready")
    pod = server.get("pod", "lab-0")[0]
    assert pod["spec"]["terminationGracePeriodSeconds"] == 30 + 30 + 2
    assert pod["metadata"]["annotations"][HOOKS] == "save,late"
    (mounted,) = [v for v in pod["spec"]["volumes"] if v["name"] == "hooks"]
    (config_map,) = server.get("configmap", mounted["configMap"]["name"])
    assert config_map["data"]["list"] == "save 30\nlate 2\n"
    assert config_map["data"]["save.hook"] == SAVE["script"]
    says(server, GOOD, 0)
    says(server, SAID, 1)
    server.stop()
    good = [(0, "save", "Stopped", "Succeeded"), (0, "late", "Stopped", "Succeeded")]
    wait_outcomes(server, *good, *failed(1, "Stopped"))
    entry = server.status["hooks"][2]
    assert (entry["exitCode"], entry["seconds"], entry["output"]) == (1, 0, "no[31m room")
    wait_until(lambda: len(events(server)) == 3, lambda: str(events(server)))
    assert set(events(server)) == {"HookFailed", "HookTimedOut", "HooksSucceeded"}
    assert "hook `save` failed with exit code 1 after 0 s, in replica 1" in str(events(server))
    server.start()
    assert len(outcomes(server)) == 4, "they stay until the pods end again"


def test_a_changed_hook_waits_for_the_next_start(server: DevServer) -> None:
    server.apply()
    server.wait("Ready")
    before = server.uids("configmap,pod")
    server.apply(lifecycle={"hooks": [SAVE | {"script": "cp model.pt other.pt\n"}]})
    said = server.wait("RestartRequired")
    assert said["message"].startswith("spec.lifecycle.hooks has changed since the server started")
    assert server.uids("configmap,pod") == before
    server.stop()
    server.start()
    server.wait("RestartRequired", "False")
    after = server.uids("configmap,pod")
    assert len(after.keys() - before.keys()) == 1, "a ConfigMap with another name"
    # Nothing is read again for a template that was rendered without scripts.
    server.apply(lifecycle=None)
    server.wait("RestartRequired")
    assert server.uids("configmap,pod") == after


def test_an_eviction_and_a_deleted_pod_are_told_apart(server: DevServer) -> None:
    server.apply()
    server.wait("Ready")
    uid = server.uids("pod")["Pod/lab-0"]
    says(server, SAID)
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "lab-0", "namespace": server.namespace},
    }
    path = f"/api/v1/namespaces/{server.namespace}/pods/lab-0/eviction"
    server.kubectl.api.post(path, eviction)
    wait_outcomes(server, *failed(0, "Evicted"))
    server.wait_for_successor(0, uid)
    says(server, SAID)
    # Two ends of a replica in one second would be the same: no real pod starts and ends so soon.
    following = moment(server.status["hooks"][0]["at"]) + timedelta(seconds=1)
    wait_until(lambda: datetime.now(UTC) > following, "the next end is a later one")
    server.kubectl.api.delete("pod", "lab-0", server.namespace)
    wait_outcomes(server, *failed(0, "Replaced"))


def test_a_deleted_server_leaves_events(server: DevServer) -> None:
    server.apply()
    server.wait("Ready")
    says(server, SAID)
    server.delete()
    wait_until(lambda: len(events(server)) == 2, lambda: str(events(server)))
    assert "(Deleted)" in events(server)["HookFailed"]
    mine = f"{DEVSERVER}={server.name}"
    wait_until(lambda: not server.get("configmap", labels=mine), "the scripts are gone")


def test_other_last_words_are_no_outcome(server: DevServer) -> None:
    server.apply()
    server.wait("Ready")
    says(server, "error: the home cannot be prepared")
    server.stop()
    assert outcomes(server) == []
    assert server.condition("Ready")["reason"] == "Stopped"
