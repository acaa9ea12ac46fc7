"""The GPU workers API's front door."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from devctl.client.workers.api import Api
from devctl.client.workers.generated.calls import Calls
from devctl.client.workers.jobs import WorkerJobs
from devctl.client.workers.keys import WorkerKeys
from devctl.client.workers.nodes import WorkerNodes

if TYPE_CHECKING:
    import httpx2

    from devctl.client.workers.generated.models import AccountBalance, InvoiceAnswer


class Workers(AbstractContextManager["Workers"]):
    """Everything that the GPU workers API can do for one account; it needs no kubeconfig.

    ::

        with Workers() as workers:
            job = workers.jobs.submit(NewWorkerJob("pytorch/pytorch", "first", gpu_memory=8192))
            print(workers.jobs.wait(job.job_id).state, workers.jobs.cost(job.job_id).amount)
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        """Ask nothing yet, and read no settings.

        Args:
            url: Where the API is; else DEVCTL_WORKERS_URL, else the setting `workers_url`.
            token: A token or key; else DEVCTL_WORKERS_TOKEN, else the setting `workers_token`.
            transport: In place of the network, for tests.
        """
        self._connection = Api(url, token, transport)
        self.api = Calls(self._connection)
        self.nodes = WorkerNodes(self.api)
        self.jobs = WorkerJobs(self.api)
        self.keys = WorkerKeys(self.api)

    def __exit__(self, *_error: object) -> None:
        """Close the connections."""
        self.close()

    def close(self) -> None:
        """Close the connections: no request can be made afterwards."""
        self._connection.close()

    def balance(self) -> AccountBalance:
        """What one's account has left."""
        return self.api.get_balance()

    def invoice(self, month: str) -> InvoiceAnswer:
        """What one's account is charged for a month, such as `2026-05`."""
        return self.api.get_invoice(month)

    def invoice_csv(self, month: str) -> str:
        """The same as CSV."""
        return self.api.get_invoice_csv(month)
