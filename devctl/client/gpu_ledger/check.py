"""`devctl doctor`: whether GPUs are counted once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from devctl.client.findings import Finding, ok, skipped, warning
from devctl.client.gpu_ledger.balance import Seen, balance
from devctl.errors import DeniedError, NotFoundError
from devctl.kube import resources
from devctl.kube.cluster import EVERYWHERE
from devctl.kube.failures import NO_SUCH_KIND

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.api.kinds import Kind
    from devctl.client.gpu_ledger.entries import Ledger
    from devctl.kube.cluster import Cluster, Object

_TOLD = 3
"""How many problems a sentence names."""


def gpus(cluster: Cluster) -> Finding:
    """Whether a GPU is offered, held or counted twice, for those who may see them all."""
    try:
        ledger = look(cluster)
    except DeniedError:
        return skipped("only administrators may look at all nodes, pods and claims")
    return replace(judge(ledger), detail=ledger.document())


def look(cluster: Cluster) -> Ledger:
    """The account of a cluster.

    Raises:
        DeniedError: The user may not see all nodes, pods and claims.
    """
    nodes = list(cluster.list(resources.Node))
    claims = _if_known(cluster, resources.ResourceClaim, EVERYWHERE)
    classes = _if_known(cluster, resources.DeviceClass)
    # What a claim holds was offered before; a pod's status has the claim that was made for it. So
    # what changes between these requests does not look wrong.
    slices = _if_known(cluster, resources.ResourceSlice)
    without_pods = balance(Seen(nodes, (), slices, claims, classes))
    if not without_pods.nodes and not without_pods.problems:
        return without_pods
    pods = list(cluster.list(resources.Pod, EVERYWHERE))
    return balance(Seen(nodes, pods, slices, claims, classes))


def judge(ledger: Ledger) -> Finding:
    """What the account says, in a sentence, and the fix if something is wrong."""
    if not ledger.nodes and not ledger.problems:
        return ok("no node has GPUs")
    if ledger.problems:
        told = ledger.problems[:_TOLD]
        more = len(ledger.problems) - len(told)
        found = "; ".join(each.found for each in told)
        fixes = "; ".join(dict.fromkeys(each.fix for each in told))
        return warning(f"{found}{f'; and {more} more problems' if more else ''}", fixes)
    nodes = "1 node" if len(ledger.nodes) == 1 else f"{len(ledger.nodes)} nodes"
    number = "1 GPU" if ledger.total == 1 else f"{ledger.total} GPUs"
    return ok(f"{number} on {nodes}, {ledger.free} free, each counted once")


def _if_known(cluster: Cluster, kind: Kind, where: str | None = None) -> Sequence[Object]:
    """All objects of a kind; none if the cluster is too old for it."""
    try:
        return list(cluster.list(kind, where))
    except NotFoundError as error:
        if error.reason != NO_SUCH_KIND:
            raise
        return []
