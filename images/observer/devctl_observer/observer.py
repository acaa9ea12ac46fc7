"""One process's watches, and the families of kinds that they serve."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from lightkube.operators import not_equal
from lightkube.resources.core_v1 import Event, Node, PersistentVolumeClaim, Pod

from devctl_observer import kinds
from devctl_observer.children import Children
from devctl_observer.clock_watch import ClockWatch
from devctl_observer.cluster_api import ClusterApi
from devctl_observer.family import Followed
from devctl_observer.flavor_fit import node_facts
from devctl_observer.jobs.family import Jobs
from devctl_observer.reflector import Reflector
from devctl_observer.servers import OURS, Servers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lightkube import AsyncClient

    from devctl_observer.family import Family

log = logging.getLogger(__name__)

# What pods' own conditions tell, and far more often.
_WARNINGS = {"fields": {"type": "Warning", "reason": not_equal("FailedScheduling")}}


class Observer:
    """One process's watches and families.

    Args:
        client: The cluster.
        leads: Whether this process may write.
    """

    def __init__(self, client: AsyncClient, leads: Callable[[], bool]) -> None:
        """Watch nothing yet."""
        self._client = client
        self.children = Children()
        api = ClusterApi(client, leads)
        self.families: Sequence[Family] = [Servers(self.children, api), Jobs(self.children, api)]
        self._clock = ClockWatch(self._look_again)

    async def run(self) -> None:
        """Work until cancelled."""
        first = [followed for family in self.families for followed in family.first]
        others = [followed for family in self.families for followed in family.others]
        async with asyncio.TaskGroup() as tasks:
            # Children are listed after what they are made for, so none of them seems to be missing.
            for group in (first, [*others, *self._shared()]):
                reflectors = [self._reflector(followed) for followed in group]
                for reflector in reflectors:
                    tasks.create_task(reflector.run())
                for reflector in reflectors:
                    # A status from half of what there is would be wrong, and flap.
                    await reflector.synced.wait()
            log.info("caches filled: %s", self.metrics().replace("\n", " "))
            tasks.create_task(self._clock.run())
            for family in self.families:
                for queue, workers in family.queues:
                    for _ in range(workers):
                        tasks.create_task(queue.run())

    def metrics(self) -> str:
        """Figures in Prometheus' text format."""
        lines = [f"devctl_observer_pods {len(self.children.pods)}"]
        for family in self.families:
            lines += family.metrics()
        return "\n".join(lines) + "\n"

    def _look_again(self) -> None:
        for family in self.families:
            family.look_again()

    def _reflector(self, followed: Followed) -> Reflector[Any]:
        return Reflector(
            *(self._client, followed.kind, followed.store, followed.convert, followed.changed),
            selectors=followed.selectors,
            everywhere=followed.everywhere,
        )

    def _shared(self) -> Sequence[Followed]:
        """What every family hears of."""

        def told(name: str) -> Callable[[Any, Any], None]:
            def changed(old: Any, new: Any) -> None:
                for family in self.families:
                    getattr(family, name)(old, new)

            return changed

        known = self.children
        return [
            Followed(Node, known.nodes, node_facts, told("node"), everywhere=False),
            Followed(Pod, known.pods, kinds.small_pod, told("pod"), OURS),
            Followed(
                *(PersistentVolumeClaim, known.claims, kinds.without_history, told("claim")), OURS
            ),
            Followed(Event, known.warnings, kinds.without_history, told("warning"), _WARNINGS),
        ]
