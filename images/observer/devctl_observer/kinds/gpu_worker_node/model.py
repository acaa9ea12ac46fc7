"""GPUWorkerNodes, as the writer of labels reads them, and Nodes, as it writes them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from lightkube.resources.core_v1 import Node

from devctl.api.gpu_worker_node import State
from devctl.api.kinds import GPU_WORKER_NODE
from devctl_observer.control.kind import Kind, kind_of
from devctl_observer.judging.model import Base, Item
from devctl_observer.watching.kept import node_facts


class WorkerSpec(Base, frozen=True):
    """What the gateway says of a node, as far as its Node shows it."""

    node_name: str
    gpu_memory_megabytes: int = 0
    max_concurrent_jobs: int = 0
    state: str = State.PENDING
    prices: Mapping[str, str] = {}


class Worker(Item, frozen=True):
    """A GPUWorkerNode."""

    spec: WorkerSpec


KIND = kind_of(GPU_WORKER_NODE, Worker)
NODE = Kind(Node, lambda obj: node_facts(msgspec.convert(obj, Node)))
