"""Requests made from OpenAPI's description, valid and not: schemathesis finds nothing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

import pytest
import schemathesis
from devctl_gateway.app import create_app
from devctl_gateway.context import Context
from devctl_gateway.identity.gate import Gate
from devctl_gateway.settings import Settings
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool
from support.gateway_app import claims, identity_file, signed, store
from support.gateway_store import sqlite_url

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from devctl_gateway.cluster.client import Cluster

TAGS = ["accounts", "artifacts", "audit", "billing", "keys", "registration tokens"]
"""Of endpoints that never ask the cluster."""

# What a schema cannot say: a cursor is one that a list has answered, a request's name a new one.
schemathesis.openapi.format("cursor", st.just(""))
schemathesis.openapi.format("idempotency-key", st.builds(lambda: str(uuid4())))


def context(folder: Path) -> Context:
    # Each request has an event loop of its own here, which no connection survives.
    engine = create_async_engine(sqlite_url(folder), poolclass=NullPool)
    found = Settings("", identity_file=identity_file(folder))
    return Context(found, engine, cast("Cluster", None))


app = create_app(
    Context(
        Settings("", failures_per_minute=10**6),
        create_async_engine("sqlite+aiosqlite://"),
        cast("Cluster", None),
    )
)
schema = schemathesis.openapi.from_asgi("/gpu-workers/openapi.json", app).include(tag=TAGS)


@schema.auth()
class Admin:
    """Who asks; the check that nobody else is let in leaves it out."""

    def get(self, _case: schemathesis.Case[Any], _context: schemathesis.AuthContext) -> str:
        return signed(claims(sub="boss", groups=["gpu-admins"]))

    def set(
        self, case: schemathesis.Case[Any], data: str, _context: schemathesis.AuthContext
    ) -> None:
        case.headers["Authorization"] = f"Bearer {data}"


@pytest.fixture
def answers(tmp_path: Path) -> Iterator[list[int]]:
    """The application gets an empty store; what it answers must not be a refusal throughout."""

    async def prepare() -> None:
        async with store(tmp_path):
            pass

    asyncio.run(prepare())
    app.state.context = context(tmp_path)
    app.state.gate = Gate(app.state.context, lambda _: None)
    given: list[int] = []
    yield given
    assert {200, 201, 204, 404} & set(given)


@schema.parametrize()
@settings(
    max_examples=10,
    # What earlier requests have made may well be there for later ones.
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
def test_every_answer_is_as_described(case: schemathesis.Case[Any], answers: list[int]) -> None:
    answers.append(case.call_and_validate().status_code)
