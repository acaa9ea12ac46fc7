"""What a VLLMRun's status is derived from, and the caches with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from lightkube.resources.core_v1 import Pod

from devctl.api.placing import NodeFacts
from devctl.api.vllm_run import DRIVER, claim_name, pod_name
from devctl_observer.judging.caches import Contents, Item
from devctl_observer.judging.devices import Claim, Gpu, Held
from devctl_observer.judging.exits import started_at
from devctl_observer.judging.model import is_owned
from devctl_observer.judging.pods import Surroundings, node_of
from devctl_observer.kinds.vllm_run.holders import View, holders_of
from devctl_observer.kinds.vllm_run.model import VLLMRun
from devctl_observer.watching.children import Children
from devctl_observer.watching.store import Key, Store


@dataclass(frozen=True)
class Observed:
    """A run, and what was observed of its children."""

    run: VLLMRun
    pod: Pod | None = None
    """Its own pod."""
    last: Pod | None = None
    """The last state of its own pod, if that is gone."""
    taken: bool = False
    """Whether the pod with its name is not its own."""
    claim: Claim | None = None
    """Its own claim, unless that is being deleted."""
    view: View = field(default_factory=View)
    """All GPUs, and who else holds which."""
    around: Surroundings = field(default_factory=Surroundings)
    nodes: frozenset[str] = frozenset()
    """Nodes that are ready."""
    plan: Sequence[Item] = ()
    """What the CachePlan has."""
    cached: Contents = field(default_factory=dict)
    """What the node of its pod has of that."""

    @property
    def began(self) -> bool:
        """Whether its program has run, as far as is known."""
        return self.run.started or bool(self.last and started_at(self.last))

    @property
    def held(self) -> Sequence[Held]:
        """The GPUs that its claim holds."""
        return [each for each in (self.claim.held if self.claim else ()) if each.driver == DRIVER]

    @property
    def gpus(self) -> Sequence[Gpu]:
        """The same with what is known of each; one that is no longer offered has only a name."""
        known = {(gpu.node, gpu.device): gpu for gpu in self.view.gpus}
        gpus = [known.get((h.node, h.device)) or Gpu(h.node, h.device) for h in self.held]
        return sorted(gpus, key=lambda gpu: (gpu.number is None, gpu.number or 0, gpu.device))

    def with_pod(self, pod: Pod | None, nodes: Iterable[NodeFacts]) -> Observed:
        """A copy with the nodes, and with the pod of its name, which may be another run's."""
        own = pod is not None and is_owned(pod.metadata, self.run.metadata.uid)
        return replace(
            self,
            pod=pod if own else None,
            taken=pod is not None and not own,
            nodes=frozenset(node.name for node in nodes if node.ready),
        )


@dataclass
class RunCaches:
    """The stores that status is derived from."""

    children: Children
    """The stores shared with other families."""
    runs: Store[VLLMRun] = field(default_factory=Store)
    last: dict[Key, Pod] = field(default_factory=dict)
    """The last state of each run's pod, if that was deleted before the run's end was known."""

    def observe(self, key: Key, run: VLLMRun) -> Observed:
        """Collect everything that a run's status is derived from."""
        children, devices = self.children, self.children.devices
        own = claim_name(key.name)
        claim, last = devices.claims.get(Key(key.namespace, own)), self.last.get(key)
        holders = (
            {} if claim and claim.held else holders_of(devices.named_claims, key.namespace, own)
        )
        pod = children.pods.get(Key(key.namespace, pod_name(key.name)))
        seen = Observed(
            run,
            last=last if last and is_owned(last.metadata, run.metadata.uid) else None,
            claim=claim if claim and is_claim_of(claim, run) else None,
            view=View(devices.gpus, holders),
            around=Surroundings(warnings=children.warnings_about([pod])),
            plan=children.caches.items,
            cached=children.caches.on(node_of(pod) if pod else ""),
        )
        return seen.with_pod(pod, children.nodes)

    @property
    def plan(self) -> str:
        """Identifies what the CachePlan says now."""
        return self.children.caches.version


def is_claim_of(claim: Claim, run: VLLMRun) -> bool:
    """Whether a claim is this very run's, and there to stay."""
    return run.metadata.uid in claim.owners and not claim.going
