"""Whether a replica lives, and whether it can answer; and its figures."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import cast

from fastapi import APIRouter, Request, Response
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from devctl_gateway.context import Context
from devctl_gateway.http.context import Inside
from devctl_gateway.http.metrics import Metrics
from devctl_gateway.http.problems import Problem
from devctl_gateway.schemas.health import Health
from devctl_gateway.store.engine import connect

router = APIRouter(tags=["health"])
_SECONDS = 2
"""How long the database may take."""


@router.get("/healthz")
async def healthz() -> Health:
    """Whether the process answers at all."""
    return Health(status="ok")


@router.get("/readyz")
async def readyz(inside: Inside) -> Health:
    """Whether it can answer: the database does, and what is known of the cluster is current."""
    if not await _database_answers(inside):
        raise _not_ready("the database does not answer")
    if not inside.cluster.synced:
        raise _not_ready("what is known of the cluster is not current")
    return Health(status="ok")


async def _database_answers(context: Context) -> bool:
    try:
        engine = context.aside or context.engine
        async with asyncio.timeout(_SECONDS), connect(engine) as connection:
            await connection.execute(text("SELECT 1"))
    except (SQLAlchemyError, OSError, TimeoutError):
        return False
    return True


def _not_ready(what: str) -> Problem:
    return Problem(
        HTTPStatus.SERVICE_UNAVAILABLE, "Not ready", f"{what}: wait", headers={"Retry-After": "5"}
    )


@router.get("/metrics", include_in_schema=False)
async def metrics(request: Request) -> Response:
    """The figures of this replica, for Prometheus."""
    return cast("Metrics", request.app.state.metrics).page()
