"""The network plugin's agents: a new pod on a node without a ready one has no connections."""

from __future__ import annotations

from collections.abc import Callable

from lightkube.resources.core_v1 import Pod

from devctl.api.network import AGENT, AGENTS, NAMESPACES, Agent, awaited
from devctl_observer.judging.model import labels_of
from devctl_observer.judging.pods import node_of, pod_condition
from devctl_observer.watching.reflector import Followed
from devctl_observer.watching.store import Store


def agent(pod: Pod) -> Agent:
    """What is stored of an agent's pod."""
    ready = pod_condition(pod, "Ready")
    return Agent(node_of(pod), labels_of(pod)[AGENT], ready is not None and ready.status == "True")


class NetworkAgents:
    """Knows which nodes wait for their agent."""

    def __init__(self) -> None:
        """Start without any."""
        self.awaited: dict[str, str] = {}
        """The plugins whose agents are not ready, by node."""
        self.tell: Callable[[str], None] = lambda _: None
        """Called with each node whose agent has changed."""
        self._store: Store[Agent] = Store(lambda one: one.node)

    @property
    def followed(self) -> Followed:
        """What is watched."""
        return Followed(
            *(Pod, self._store, agent, self._changed, {"labels": {AGENT: AGENTS}}),
            keep=lambda pod: pod.metadata.namespace in NAMESPACES,
        )

    def _changed(self, old: Agent | None, new: Agent | None) -> None:
        for node in {state.node for state in (old, new) if state and state.node}:
            self.awaited.pop(node, None)
            self.awaited.update(awaited(self._store.find(node)))
            self.tell(node)
