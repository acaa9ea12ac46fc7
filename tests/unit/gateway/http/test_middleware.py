"""What all requests and answers have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx2
import pytest
from devctl_gateway.http.body_limit import LARGEST
from devctl_gateway.http.metrics import Measured, Metrics
from fastapi import FastAPI
from starlette.middleware import Middleware

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from support.gateway_app import Gateway

pytestmark = pytest.mark.anyio
KEYS = "/gpu-workers/keys/"


@pytest.mark.parametrize("path", ["/healthz", "/nothing", KEYS])
async def test_answers_are_neither_stored_nor_guessed_at(gateway: Gateway, path: str) -> None:
    async with gateway.client() as client:
        headers = (await client.get(path)).headers
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "default-src 'none'" in headers["Content-Security-Policy"]


async def test_a_request_keeps_a_sensible_name(gateway: Gateway) -> None:
    async with gateway.client() as client:
        given = await client.get("/healthz", headers={"X-Request-ID": "deploy-7.1_a"})
        assert given.headers["X-Request-ID"] == "deploy-7.1_a"
        names = {(await client.get("/healthz")).headers["X-Request-ID"] for _ in range(5)}
        assert len(names) == 5


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, "<b>", "a\u00e9"])
async def test_other_names_are_replaced(gateway: Gateway, name: str) -> None:
    async with gateway.client() as client:
        answer = await client.get("/healthz", headers={b"X-Request-ID": name.encode()})
    assert len(answer.headers["X-Request-ID"]) == 32


async def test_a_body_that_says_it_is_too_large_is_not_read(gateway: Gateway) -> None:
    async def never() -> AsyncIterator[bytes]:
        raise AssertionError
        yield b""

    async with gateway.user() as user:
        answer = await user.post(
            KEYS, content=never(), headers={"Content-Length": str(LARGEST + 1)}
        )
    assert answer.status_code == 413
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


async def test_a_body_that_turns_out_too_large_is_read_no_further(gateway: Gateway) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 65536
            yield b"x" * 65536

    async with gateway.user() as user:
        answer = await user.post(
            KEYS, content=endless(), headers={"Content-Type": "application/json"}
        )
    assert answer.status_code == 413
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert sent <= LARGEST + 2 * 65536


@pytest.mark.parametrize("length", ["-1", "x", "1e3", "\u0661"])
async def test_a_length_that_is_none_is_refused(gateway: Gateway, length: str) -> None:
    async with gateway.user() as user:
        answer = await user.post(KEYS, content=b"{}", headers={b"Content-Length": length.encode()})
    assert answer.status_code == 413


async def test_a_body_of_the_largest_size_is_read(gateway: Gateway) -> None:
    async with gateway.user() as user:
        answer = await user.post(KEYS, json={"name": "x" * (LARGEST - 20)})
    assert answer.status_code == 422


async def test_requests_are_counted_by_the_templates_of_their_paths() -> None:
    metrics = Metrics()
    app = FastAPI(middleware=[Middleware(Measured, metrics=metrics)])

    @app.get("/jobs/{job_id}")
    async def job(job_id: str) -> str:
        return job_id

    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:
        for path in ("/jobs/job-1", "/jobs/job-2", "/secret-1", "/secret-2"):
            await client.get(path)
        await client.request("BREW", "/jobs/job-1")

    def counted(method: str, route: str, status: str) -> float | None:
        labels = {"method": method, "route": route, "status": status}
        return metrics.registry.get_sample_value("gateway_requests_total", labels)

    assert counted("GET", "/jobs/{job_id}", "200") == 2
    assert counted("GET", "unmatched", "404") == 2
    assert counted("other", "/jobs/{job_id}", "405") == 1
    page = bytes(metrics.page().body)
    assert b"gateway_request_seconds_bucket" in page
    assert b"secret" not in page
    assert b"job-1" not in page


async def test_the_gateways_own_paths_are_counted_in_full(gateway: Gateway) -> None:
    async with gateway.user() as user:
        await user.delete(f"{KEYS}key-000000000000")
    labels = {"method": "DELETE", "route": "/gpu-workers/keys/{key_id}", "status": "404"}
    counter = gateway.app.state.metrics.requests
    (family,) = counter.collect()
    assert [each.labels for each in family.samples if each.name.endswith("_total")] == [labels]
