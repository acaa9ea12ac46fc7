"""What Prometheus reads of a replica. No label has an ID, a name or a secret in it."""

from __future__ import annotations

import time
from collections import Counter as Tally
from collections.abc import Iterator

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from devctl.api.gpu_worker_job import Phase
from devctl_gateway.context import Context

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_NOWHERE = "unmatched"


def route_of(scope: Scope) -> str:
    """The template of the path that answered, such as `/gpu-workers/jobs/{job_id}`."""
    return str(getattr(scope.get("route"), "path", _NOWHERE))


class Jobs(Collector):
    """How many jobs there are in each phase, as the cluster says when it is asked.

    Args:
        context: Of the process.
    """

    def __init__(self, context: Context) -> None:
        """Ask nothing yet."""
        self._context = context

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """What there will be."""
        yield GaugeMetricFamily("gateway_jobs", "Jobs by phase", labels=["phase"])

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Count, unless the copy of what the cluster has is not current."""
        for family in self.describe():
            if self._context.cluster.synced:
                jobs = list(self._context.cluster.jobs.values())
                tally = Tally(job.get("status", {}).get("phase", Phase.PENDING) for job in jobs)
                for phase in Phase:
                    family.add_metric([phase.lower()], tally[phase])
            yield family


class Metrics:
    """A replica's figures, of all its processes.

    Args:
        processes: How many there are. Several count in files that all of them read.

    Attributes:
        registry: Where others add theirs.
    """

    def __init__(self, processes: int = 1) -> None:
        """Begin at 0."""
        self.registry = CollectorRegistry()
        own: CollectorRegistry | None = self.registry
        if processes > 1:
            MultiProcessCollector(self.registry)  # type: ignore[no-untyped-call]
            own = None
        else:
            ProcessCollector(registry=self.registry)
            PlatformCollector(registry=self.registry)
        self.requests = Counter(
            "gateway_requests", "Requests answered", ["method", "route", "status"], registry=own
        )
        self.seconds = Histogram(
            "gateway_request_seconds",
            "Until an answer begins",
            ["method", "route"],
            buckets=_SECONDS,
            registry=own,
        )

    def page(self) -> Response:
        """All figures, as Prometheus reads them."""
        return Response(
            generate_latest(self.registry), headers={"Content-Type": CONTENT_TYPE_LATEST}
        )


class Measured:
    """Middleware: counts and times requests."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        """Stand before an application."""
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        method = scope["method"] if scope["method"] in _METHODS else "other"

        async def count(message: Message) -> None:
            if message["type"] == "http.response.start":
                route = route_of(scope)
                self._metrics.requests.labels(method, route, message["status"]).inc()
                self._metrics.seconds.labels(method, route).observe(time.perf_counter() - began)
            await send(message)

        await self._app(scope, receive, count)
