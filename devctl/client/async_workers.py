"""The GPU workers API for asyncio; see AsyncClient."""

from __future__ import annotations

from devctl.client.async_calls import AsyncPart, awaited, iterated
from devctl.client.workers.generated.async_calls import AsyncCalls
from devctl.client.workers.jobs import WorkerJobs
from devctl.client.workers.keys import WorkerKeys
from devctl.client.workers.nodes import WorkerNodes
from devctl.client.workers.workers import Workers


class AsyncWorkerNodes(AsyncPart):
    """Nodes of the GPU workers API; see WorkerNodes."""

    list = iterated(WorkerNodes.list)
    get = awaited(WorkerNodes.get)
    available = awaited(WorkerNodes.available)


class AsyncWorkerJobs(AsyncPart):
    """Jobs of the GPU workers API; see WorkerJobs."""

    submit = awaited(WorkerJobs.submit)
    list = iterated(WorkerJobs.list)
    get = awaited(WorkerJobs.get)
    cancel = awaited(WorkerJobs.cancel)
    delete = awaited(WorkerJobs.delete)
    wait = awaited(WorkerJobs.wait)
    logs = iterated(WorkerJobs.logs)
    artifacts = awaited(WorkerJobs.artifacts)
    download = awaited(WorkerJobs.download)
    pull = awaited(WorkerJobs.pull)
    cost = awaited(WorkerJobs.cost)


class AsyncWorkerKeys(AsyncPart):
    """API keys of the GPU workers API; see WorkerKeys."""

    list = iterated(WorkerKeys.list)
    create = awaited(WorkerKeys.create)
    rotate = awaited(WorkerKeys.rotate)
    revoke = awaited(WorkerKeys.revoke)


class AsyncWorkers(AsyncPart):
    """The GPU workers API; see Workers."""

    balance = awaited(Workers.balance)
    invoice = awaited(Workers.invoice)
    invoice_csv = awaited(Workers.invoice_csv)
    close = awaited(Workers.close)

    def __init__(self, sync: Workers) -> None:
        """Wrap a client's API."""
        super().__init__(sync)
        self.api = AsyncCalls(sync.api)
        self.nodes = AsyncWorkerNodes(sync.nodes)
        self.jobs = AsyncWorkerJobs(sync.jobs)
        self.keys = AsyncWorkerKeys(sync.keys)
