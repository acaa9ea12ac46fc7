"""The application: all endpoints, behind what they share."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.middleware import Middleware

from devctl_gateway.context import Context
from devctl_gateway.http.body_limit import BodyLimit
from devctl_gateway.http.headers import SafeHeaders
from devctl_gateway.http.limits import FailureLimit, Limits
from devctl_gateway.http.metrics import Jobs, Measured, Metrics
from devctl_gateway.http.open_answers import OpenAnswers
from devctl_gateway.http.problem_schema import PROBLEMS, Described
from devctl_gateway.http.problems import add_handlers
from devctl_gateway.http.request_ids import RequestIds
from devctl_gateway.identity.gate import Gate
from devctl_gateway.routes import ROUTERS
from devctl_gateway.settings import PREFIX


def create_app(context: Context) -> FastAPI:
    """The gateway as an ASGI application.

    Its state has `context`, `gate` (who asks) and `metrics` (where others add their figures).

    Raises:
        ValueError: The identity file is not valid.
        OSError: It cannot be read.
    """
    limits = Limits(context.settings.requests_per_minute, context.settings.failures_per_minute)
    metrics = Metrics(context.settings.processes)
    metrics.registry.register(Jobs(context))
    app = Described(
        title="GPU workers",
        version="v1alpha1",
        summary="Nodes with GPUs, the jobs that run on them, and what those cost.",
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,  # their pages load programs from elsewhere
        redoc_url=None,
        responses=PROBLEMS,
        generate_unique_id_function=lambda route: route.name,  # what clients call their functions
        # A redirect would repeat the request, with its secrets, at an address of the Host header's.
        redirect_slashes=False,
        middleware=[  # the first one is the outermost
            Middleware(RequestIds),
            Middleware(SafeHeaders),
            Middleware(Measured, metrics=metrics),
            Middleware(FailureLimit, limits=limits),
            Middleware(BodyLimit),
        ],
    )
    app.state.context, app.state.metrics = context, metrics
    app.state.open_answers = OpenAnswers(context.settings.open_logs)
    app.state.gate = Gate(context, limits.admit)
    add_handlers(app)
    for router in ROUTERS:
        app.include_router(router)
    return app
