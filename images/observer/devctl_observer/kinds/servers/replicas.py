"""The state of each replica of a server."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lightkube.models.core_v1 import Pod

from devctl.api.devserver import Phase
from devctl_observer.judging.model import Verdict, meta_of
from devctl_observer.judging.pods import Surroundings, judge_pod, node_of, own_statuses
from devctl_observer.judging.refusals import judge_refusal

_MESSAGES = 16
"""Maximum number of replicas with a message, not running ones first: a thousand that wait for the
same image would exceed etcd's object size."""
_LONGEST = 1024


@dataclass(frozen=True)
class Replica:
    """One pod of a server, or the lack of it."""

    ordinal: int
    verdict: Verdict
    pod: Pod | None = None

    def to_status(self, name: str, *, told: bool = True) -> dict[str, object]:
        """An entry of status.replicaStatuses, with the message only if `told`."""
        pod = self.pod
        counts = [status.restartCount for status in own_statuses(pod)] if pod else []
        entry = {
            "ordinal": self.ordinal,
            "pod": name,
            "node": node_of(pod) if pod else None,
            "ip": pod.status.podIP if pod and pod.status else None,
            "phase": str(self.verdict.phase),
            "reason": self.verdict.reason,
            "message": self.verdict.message[:_LONGEST] if told else "",
            "restarts": sum(counts),
        }
        return {key: value for key, value in entry.items() if value not in {None, ""}}


def to_statuses(replicas: Sequence[Replica], server: str) -> list[dict[str, object]]:
    """The status.replicaStatuses of a server, with a limited number of messages."""
    telling = sorted(replicas, key=lambda replica: replica.verdict.phase is Phase.RUNNING)
    told = {replica.ordinal for replica in telling[:_MESSAGES]}
    return [r.to_status(f"{server}-{r.ordinal}", told=r.ordinal in told) for r in replicas]


def ordinal(name: str) -> int | None:
    """The ordinal in the name of a StatefulSet's pod; None if there is none."""
    last = name.rpartition("-")[2]
    return int(last) if last.isascii() and last.isdecimal() and len(last) < 7 else None  # noqa: PLR2004 - far beyond any server's size


def observe_replicas(size: int, pods: Iterable[Pod], around: Surroundings) -> list[Replica]:
    """Every desired replica and every pod that still exists, sorted."""
    there = {ordinal(meta_of(pod.metadata).name): pod for pod in pods}
    made_by = [e for e in around.warnings if e.involvedObject.kind == "StatefulSet"]
    waits = Verdict(Phase.PENDING, "PodMissing", "its pod is about to be created")
    missing = judge_refusal(made_by) or waits
    return [
        Replica(number, judge_pod(pod, around) if (pod := there.get(number)) else missing, pod)
        for number in sorted({*range(size), *(n for n in there if n is not None)})
    ]
