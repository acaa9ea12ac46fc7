"""Looks at the node: what it is, and what is free on it now."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from devctl.agents.nvidia_smi import ToolError
from devctl_gpu_worker_agent.facts import Facts, Free, Held, facts_of, free_of
from devctl_gpu_worker_agent.gpus import Card, of_node, of_slices

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_PATIENCE = 3
"""Failures of nvidia-smi in a row until its GPUs count as unhealthy: one may be slow for once."""


class Cluster(Protocol):
    """Where the node and its pods are known."""

    def node(self, name: str) -> dict[str, Any]:
        """A Node."""

    def pods(self, node: str) -> Iterable[dict[str, Any]]:
        """The pods of a Node."""

    def slices(self, node: str) -> list[dict[str, Any]]:
        """The ResourceSlices of a Node."""


class Seen(NamedTuple):
    """A look at the node."""

    facts: Facts
    free: Free


class Looking:
    """Looks at a node, as often as it is asked to.

    Args:
        name: The node's.
        cluster: Where it is known.
        tool: Asks for the real GPUs, or raises ToolError; None where there is no nvidia-smi.
        made_up_memory: Megabytes of each GPU that a local cluster pretends to have; 0 elsewhere.
    """

    def __init__(
        self,
        name: str,
        cluster: Cluster,
        tool: Callable[[], list[Card]] | None,
        made_up_memory: int = 0,
    ) -> None:
        """Have seen nothing."""
        self._name, self._cluster, self._tool = name, cluster, tool
        self._made_up_memory = made_up_memory
        self._failures = 0
        self._cards: list[Card] = []

    def look(self) -> Seen:
        """What the node is and has.

        Raises:
            ApiError: The API server does not answer.
            ToolError: nvidia-smi does not, and never has.
            ValueError: An amount is not a quantity.
        """
        node = self._cluster.node(self._name)
        cards = self._found(node)
        held = Held()
        for pod in self._cluster.pods(self._name):
            held.add(pod)
        return Seen(facts_of(node, cards), free_of(node, cards, held))

    def _found(self, node: Mapping[str, Any]) -> list[Card]:
        if self._tool is None:
            offered = of_slices(self._cluster.slices(self._name))
            return offered or of_node(node, self._made_up_memory)
        try:
            self._cards = self._tool()
            self._failures = 0
        except ToolError as error:
            self._failures += 1
            if not self._cards:
                raise
            if self._failures >= _PATIENCE:
                self._cards = [replace(card, problem=str(error)) for card in self._cards]
        return self._cards
