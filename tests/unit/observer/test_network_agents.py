"""A new server on a node whose network plugin is down waits; older ones are left alone."""

from __future__ import annotations

from typing import Any

import pytest
from devctl_observer.judging.pods import Surroundings
from devctl_observer.kinds.servers.observed import Observed
from devctl_observer.kinds.servers.status import server_status
from devctl_observer.watching.network_agents import NetworkAgents, agent
from devctl_observer.watching.store import Key

from devctl.api.conditions import find
from devctl.api.network import Agent
from unit.observer.objects import NOW, distributed, flavor, pod, server


def agent_pod(*, ready: bool, namespace: str = "kube-system") -> Any:
    labels = {"k8s-app": "kube-router"}
    return pod(ready=ready, meta={"labels": labels, "name": "router", "namespace": namespace})


class Agents:
    """The agents of a cluster, and the nodes that were told of."""

    def __init__(self) -> None:
        self.real = NetworkAgents()
        self.told: list[str] = []
        self.real.tell = self.told.append

    def put(self, name: str, one: Agent) -> None:
        followed, key = self.real.followed, Key("kube-system", name)
        old = followed.store.get(key)
        followed.store.put(key, 1, one)
        followed.changed(old, one)

    def drop(self, name: str) -> None:
        followed = self.real.followed
        followed.changed(followed.store.drop(Key("kube-system", name)), None)


def test_what_is_kept_of_an_agent() -> None:
    assert agent(agent_pod(ready=True)) == Agent("node-a", "kube-router", ready=True)
    assert agent(agent_pod(ready=False)) == Agent("node-a", "kube-router", ready=False)


def test_a_users_pod_is_not_an_agent() -> None:
    keep = NetworkAgents().followed.keep
    assert keep(agent_pod(ready=True))
    assert not keep(agent_pod(ready=True, namespace="dev-alice"))


def test_a_node_waits_while_its_agent_is_not_ready() -> None:
    agents = Agents()
    agents.put("one", Agent("node-a", "kube-router", ready=False))
    assert agents.real.awaited == {"node-a": "kube-router"}
    agents.put("two", Agent("node-a", "kube-router", ready=True))
    assert agents.real.awaited == {}
    agents.drop("two")
    agents.put("one", Agent("node-a", "kube-router", ready=True))
    assert agents.real.awaited == {}
    assert agents.told == ["node-a"] * 4


def test_of_two_plugins_both_are_needed() -> None:
    agents = Agents()
    agents.put("one", Agent("node-a", "aws-node", ready=True))
    agents.put("two", Agent("node-a", "calico-node", ready=False))
    assert agents.real.awaited == {"node-a": "calico-node"}


def test_without_an_agent_nothing_waits() -> None:
    agents = Agents()
    agents.put("one", Agent("node-a", "kube-router", ready=False))
    agents.drop("one")
    assert agents.real.awaited == {}


def ready_of(was: str | None, down: str, *pods: Any, **spec: Any) -> dict[str, Any]:
    before = {"conditions": [{"type": "Ready", "status": was}]} if was else {}
    seen = Observed(
        server(before, **spec),
        made=True,
        pods=pods,
        around=Surroundings(agents={down: "kube-router"}),
        flavors={"cpu-small": flavor()},
    )
    return dict(find(server_status(seen, NOW), "Ready"))


@pytest.mark.parametrize("was", [None, "False"])
def test_a_new_server_waits_for_its_connections(was: str | None) -> None:
    found = ready_of(was, "node-a", pod(ready=True))
    assert (found["status"], found["reason"]) == ("False", "NetworkNotReady")
    assert "the network plugin `kube-router` is not ready on node `node-a`" in found["message"]


def test_a_server_that_was_ready_stays_ready() -> None:
    assert ready_of("True", "node-a", pod(ready=True))["reason"] == "Ready"


def test_agents_of_other_nodes_do_not_count() -> None:
    assert ready_of("False", "node-b", pod(ready=True))["reason"] == "Ready"


def test_all_replicas_need_connections() -> None:
    pods = (pod(ready=True), pod(1, ready=True, node="node-b"))
    found = ready_of("False", "node-b", *pods, **distributed())
    assert found["reason"] == "NetworkNotReady"


def test_another_problem_goes_first() -> None:
    assert ready_of("False", "node-a", pod())["reason"] == "Creating"
