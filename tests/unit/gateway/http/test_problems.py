"""Errors: always problem details, which say what to do and nothing that is inside."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Annotated, Any

import httpx2
import pytest
from devctl_gateway.errors import (
    ClusterError,
    ConflictError,
    ForbiddenError,
    GatewayError,
    InvalidError,
    NotFoundError,
    TooManyRequestsError,
    UnauthenticatedError,
)
from devctl_gateway.http.headers import SafeHeaders
from devctl_gateway.http.problem_schema import MEDIA_TYPE
from devctl_gateway.http.problems import Problem, add_handlers, field_path
from devctl_gateway.http.request_ids import RequestIds
from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.exc import DataError, OperationalError
from starlette.middleware import Middleware

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from support.gateway_app import Gateway

pytestmark = pytest.mark.anyio
SECRET = "gpw_k0123456789a_" + "s" * 43
MEMBERS = {"type", "title", "status", "detail", "instance", "request_id"}


class Prices(BaseModel):
    model_config = ConfigDict(extra="forbid")
    per_gpu_hour: Annotated[str, Field(max_length=5)]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")
    count: int
    prices: list[Prices]


RAISED: dict[str, tuple[Exception, int]] = {
    "problem": (Problem(409, "Node busy", "wait"), 409),
    "unauthenticated": (UnauthenticatedError("who"), 401),
    "forbidden": (ForbiddenError("no"), 403),
    "not-found": (NotFoundError("there is no job `job-1`", "`GET jobs/` lists yours"), 404),
    "conflict": (ConflictError("taken"), 409),
    "invalid": (InvalidError("no sense"), 422),
    "too-many": (TooManyRequestsError("often", retry_after=7), 429),
    "cluster": (ClusterError("away"), 503),
    "unknown": (GatewayError(SECRET), 500),
    "mistake": (RuntimeError(SECRET), 500),
    "database": (OperationalError("SELECT 1", {"secret": SECRET}, Exception(SECRET)), 503),
    "character": (DataError("SELECT 1", {"secret": SECRET}, Exception(SECRET)), 422),
}


@pytest.fixture
async def client() -> AsyncIterator[httpx2.AsyncClient]:
    app = FastAPI(middleware=[Middleware(RequestIds), Middleware(SafeHeaders)])
    add_handlers(app)

    @app.get("/raise/{name}")
    async def fail(name: str) -> None:
        raise RAISED[name][0]

    @app.post("/body")
    async def take(body: Body) -> Body:
        return body

    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://test") as one:
        yield one


def check(answer: httpx2.Response, status: int) -> dict[str, Any]:
    problem: dict[str, Any] = answer.json()
    assert answer.status_code == problem["status"] == status
    assert answer.headers["Content-Type"] == MEDIA_TYPE
    assert problem.keys() >= MEMBERS
    assert problem["request_id"] == answer.headers["X-Request-ID"]
    assert problem["instance"] == answer.request.url.raw_path.decode().split("?")[0]
    assert SECRET not in answer.text
    return problem


@pytest.mark.parametrize("name", RAISED)
async def test_an_error_is_a_problem(client: httpx2.AsyncClient, name: str) -> None:
    check(await client.get(f"/raise/{name}"), RAISED[name][1])


async def test_a_problem_says_what_happened_and_what_to_do(client: httpx2.AsyncClient) -> None:
    problem = check(await client.get("/raise/not-found"), 404)
    assert problem["detail"] == "there is no job `job-1`; `GET jobs/` lists yours"
    assert (problem["type"], problem["title"]) == ("about:blank", "Not Found")
    problem = check(await client.get("/raise/problem"), 409)
    assert problem["type"] == "tag:imagepod.dev,2025:node-busy"


async def test_headers_say_what_programs_need(client: httpx2.AsyncClient) -> None:
    assert (await client.get("/raise/too-many")).headers["Retry-After"] == "7"
    assert (await client.get("/raise/cluster")).headers["Retry-After"] == "5"
    assert (await client.get("/raise/unauthenticated")).headers["WWW-Authenticate"] == "Bearer"
    assert (await client.get("/body")).headers["Allow"] == "POST"


async def test_a_mistake_of_ours_is_in_the_log_with_the_name_of_the_request(
    client: httpx2.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        problem = check(await client.get("/raise/mistake"), 500)
    (entry,) = caplog.records
    assert problem["request_id"] in entry.getMessage()
    assert entry.exc_info


async def test_paths_and_methods_that_are_not_there_are_problems(
    client: httpx2.AsyncClient,
) -> None:
    check(await client.get("/nothing"), 404)
    check(await client.get("/nothing/%F0%9F%92%A5/%22%3Cb%3E"), 404)
    check(await client.put("/body"), 405)


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({"count": SECRET, "prices": []}, ["body.count"]),
        ({"count": 1, "prices": [{"per_gpu_hour": SECRET}]}, ["body.prices.0.per_gpu_hour"]),
        ({"count": 1, "prices": [], "owner": SECRET}, ["body.owner"]),
        ({}, ["body.count", "body.prices"]),
        ([], ["body"]),
        (SECRET, ["body"]),
        ({"count": 1, "prices": [{}] * 50}, [f"body.prices.{i}.per_gpu_hour" for i in range(20)]),
    ],
)
async def test_fields_that_are_not_valid_are_named_and_not_shown(
    client: httpx2.AsyncClient, body: object, fields: list[str]
) -> None:
    problem = check(await client.post("/body", json=body), 422)
    assert [each["field"] for each in problem["errors"]] == fields
    assert all(each.keys() == {"field", "message", "code"} for each in problem["errors"])


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"{", "application/json", 422),
        (b'"\xff"', "application/json", 400),
        (b"[" * 100_000, "application/json", 400),
        (b'{"count": 1, "prices": []}', "text/plain", 422),
    ],
)
async def test_what_cannot_be_read_is_a_problem(
    client: httpx2.AsyncClient, content: bytes, kind: str, status: int
) -> None:
    answer = await client.post("/body", content=content, headers={"Content-Type": kind})
    check(answer, status)


def test_long_names_of_unknown_fields_are_cut() -> None:
    assert len(field_path(("body", "x" * 5000))) < 200


async def test_the_gateway_answers_strangers_with_problems(gateway: Gateway) -> None:
    async with gateway.client() as stranger:
        check(await stranger.get("/gpu-workers/keys/"), 401)
        check(await stranger.post("/gpu-workers/keys/", json={"nonsense": 1}), 401)
        check(await stranger.get("/gpu-workers/keys"), 404)
