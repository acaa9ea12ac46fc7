"""An API server that answers rubbish, or not at all: of OWASP's ten, API10."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx2
import jwt
import pytest
from devctl_gateway.identity.reviews import AGENT, AUDIENCE
from support.gateway_bodies import FACTS
from support.gateway_crowd import ADA, BOSS, Crowd, Rows, crowd, submit

from devctl.api.gpu_worker_job import PLURAL

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    Answer = Callable[[httpx2.Request], Awaitable[httpx2.Response]]

pytestmark = pytest.mark.anyio
NODE = {"authentication.kubernetes.io/node-name": ["four"]}
SEVEN = dict.fromkeys(NODE, 7)
GOOD = {
    "authenticated": True,
    "audiences": [AUDIENCE],
    "user": {"username": AGENT, "extra": NODE},
}
BOUND = jwt.encode({"iss": "https://api.test", "kubernetes.io": {}}, "x" * 32, "HS256")
"""What a service account could show: the API server is to say what it is worth."""
REVIEWS: dict[str, Any] = {
    "no status": {},
    "a status of null": {"status": None},
    "a status that is a list": {"status": []},
    "audiences of null": {"status": GOOD | {"audiences": None}},
    "audiences that are a number": {"status": GOOD | {"audiences": 7}},
    "a user of null": {"status": GOOD | {"user": None}},
    "a user that is a text": {"status": GOOD | {"user": AGENT}},
    "nodes of null": {"status": GOOD | {"user": {"username": AGENT, "extra": None}}},
    "nodes that are a number": {"status": GOOD | {"user": {"username": AGENT, "extra": SEVEN}}},
    "a list": [],
    "a text": "yes",
}


@pytest.mark.parametrize("said", REVIEWS.values(), ids=[f"API10-{each}" for each in REVIEWS])
async def test_a_review_that_says_nothing_proves_nothing(
    people: Crowd, rows: Rows, said: object
) -> None:
    async def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(201, json=said)

    await refused(people, answer, rows)


@pytest.mark.parametrize(
    "how", ["html", "half", "silence", "an error", "a redirect"], ids="API10-{}".format
)
async def test_an_answer_that_is_none_is_no_mistake_of_ours(
    people: Crowd, rows: Rows, how: str
) -> None:
    async def answer(request: httpx2.Request) -> httpx2.Response:
        if how == "silence":
            raise httpx2.ReadTimeout("it takes too long", request=request)
        return {
            "html": httpx2.Response(200, text="<html>welcome</html>"),
            "half": httpx2.Response(200, text='{"status": {"authenti'),
            "an error": httpx2.Response(500, text="x" * 10_000),
            "a redirect": httpx2.Response(302, headers={"Location": "http://169.254.169.254/"}),
        }[how]

    await refused(people, answer, rows)


async def refused(people: Crowd, answer: Answer, rows: Rows) -> None:
    people.server.answers["tokenreviews"] = answer
    people.bearers["a pod"] = BOUND
    body = FACTS | {"node_name": "four"}
    found = await people.ask("a pod", "POST", "/nodes/register", json=body)
    assert found.status_code == 503
    assert found.headers["content-type"] == "application/problem+json"
    assert len(found.text) < 2000
    assert await people.rows() == rows


async def test_a_review_that_vouches_registers_the_node(tmp_path: Path) -> None:
    async def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(201, json={"status": GOOD})

    async with crowd(tmp_path) as people:
        people.server.answers["tokenreviews"] = answer
        people.bearers["a pod"] = BOUND
        body = FACTS | {"node_name": "four"}
        found = await people.ask("a pod", "POST", "/nodes/register", json=body)
        assert found.status_code == 201
        other = await people.ask(
            "a pod", "POST", "/nodes/register", json=FACTS | {"node_name": "one"}
        )
        assert other.status_code == 409


async def test_rubbish_in_a_watch_ends_neither_the_copy_nor_the_api(tmp_path: Path) -> None:
    async with crowd(tmp_path) as people:
        things: list[dict[str, Any]] = [{}, {"metadata": {}}, {"metadata": {"name": 7}}]
        for rubbish in things:
            people.server.say(PLURAL, {"type": "MODIFIED", "object": rubbish})
        people.server.say(PLURAL, {"type": "ERROR", "object": {"code": 410}})
        assert (await people.ask(ADA, "GET", "/jobs/")).status_code == 200
        job_id = await submit(people, ADA)
        assert (await people.ask(ADA, "GET", f"/jobs/{job_id}")).json()["state"] == "running"
        assert (await people.ask(BOSS, "GET", "/available-nodes/")).status_code == 200


async def test_a_log_is_asked_for_in_bounds_and_its_failures_are_problems(people: Crowd) -> None:
    asked: list[httpx2.URL] = []
    path = f"/jobs/{people.ids['job_id']}/logs"

    async def fails(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.url)
        if len(asked) == 1:
            raise httpx2.ConnectError("no route", request=request)
        return httpx2.Response(502, text="<html>" + "x" * 10_000)

    people.server.answers = {"/log": fails}
    for _ in range(2):
        answer = await people.ask(ADA, "GET", path, params={"tail": 5})
        assert answer.status_code == 503
        assert len(answer.text) < 2000
    assert all(int(url.params["limitBytes"]) <= 1 << 26 for url in asked)
    assert all(url.params["tailLines"] == "5" for url in asked)
