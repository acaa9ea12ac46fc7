"""Logs over HTTP: how many at a time, and what becomes of them once nobody listens."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import httpx2
import pytest
from devctl_gateway.routes import logs
from support.gateway_bodies import JOB
from support.gateway_cluster import until
from support.gateway_crowd import ADA, ADAS_KEY, BOB, BOSS, Crowd, crowd, submit

from unit.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from starlette.types import Message

pytestmark = pytest.mark.anyio
MOST = 2


class Program(httpx2.AsyncByteStream):
    """Says something, or nothing, and no more until it is told to end."""

    def __init__(self, words: bytes) -> None:
        self.words, self.ends, self.left = words, asyncio.Event(), False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self.words:
            yield self.words
        await self.ends.wait()

    async def aclose(self) -> None:
        self.left = True


@pytest.fixture
async def people(tmp_path: Path) -> AsyncIterator[Crowd]:
    async with crowd(tmp_path, open_logs=MOST) as one:
        yield one


@pytest.fixture(params=[b"a line\n"], ids=["it speaks"])
def programs(people: Crowd, request: pytest.FixtureRequest) -> list[Program]:
    """Those whose logs are being read, each by one reader."""
    made: list[Program] = []

    async def follow(_: httpx2.Request) -> httpx2.Response:
        made.append(Program(request.param))
        return httpx2.Response(200, stream=made[-1])

    people.server.answers = {"/log": follow}
    return made


async def test_one_account_follows_a_few_logs_at_a_time_and_others_go_on(
    people: Crowd, programs: list[Program]
) -> None:
    path = f"/jobs/{people.ids['job_id']}/logs"
    theirs = await submit(people, BOB)
    async with asyncio.TaskGroup() as readers:
        mine = [
            readers.create_task(people.ask(who, "GET", path, params={"follow": True}))
            for who in (ADA, ADAS_KEY)
        ]
        await until(lambda: len(programs) == MOST)
        async with asyncio.timeout(PATIENCE):
            refused = await people.ask(ADA, "GET", path)
        assert refused.status_code == 429
        assert refused.headers["content-type"] == "application/problem+json"
        assert int(refused.headers["Retry-After"]) > 0
        assert len(programs) == MOST
        other = readers.create_task(people.ask(BOB, "GET", f"/jobs/{theirs}/logs"))
        await until(lambda: len(programs) == MOST + 1)
        for each in programs:
            each.ends.set()
    for reader in (*mine, other):
        assert (reader.result().status_code, reader.result().text) == (200, "a line\n")
    async with asyncio.TaskGroup() as readers:
        again = readers.create_task(people.ask(ADA, "GET", path))
        await until(lambda: len(programs) == MOST + 2)
        programs[-1].ends.set()
    assert again.result().status_code == 200


async def test_a_refusal_holds_no_place(people: Crowd, programs: list[Program]) -> None:
    for _ in range(MOST + 1):
        absent = await people.ask(ADA, "GET", "/jobs/job-000000000000/logs")
        assert absent.status_code == 404
    people.server.answers = {}
    for _ in range(MOST + 1):
        gone = await people.ask(BOSS, "GET", f"/jobs/{people.ids['job_id']}/logs")
        assert gone.status_code == 409
        assert "its log with it" in gone.json()["detail"]
    waiting = (await people.made(BOB, "/jobs/", JOB))["job_id"]
    none = await people.ask(BOB, "GET", f"/jobs/{waiting}/logs")
    assert none.status_code == 409
    assert "no pod yet" in none.json()["detail"]
    assert not programs


@pytest.mark.parametrize("programs", [b"", b"a line\n"], ids=["silent", "it speaks"], indirect=True)
@pytest.mark.parametrize("late", [False, True], ids=["at once", "while it waits"])
async def test_nobody_goes_on_reading_for_who_has_left(
    people: Crowd, programs: list[Program], monkeypatch: pytest.MonkeyPatch, *, late: bool
) -> None:
    monkeypatch.setattr(logs, "_UNTIL_LOGS", 0.01)
    read = asyncio.Event()
    if not late:
        read.set()

    async def receive() -> Message:
        await read.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        # Of a silent program, nothing but the beginning of an answer is ever sent.
        if message.get("body") or not programs[-1].words:
            read.set()
        await asyncio.sleep(0)  # as a server does whose buffers are full

    path = f"/gpu-workers/jobs/{people.ids['job_id']}/logs"
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"follow=true",
        "headers": [(b"authorization", f"Bearer {people.bearers[ADA]}".encode())],
        "client": ("192.0.2.1", 1),
        "server": ("gateway.test", 80),
    }
    for _ in range(MOST + 1):
        await people.gateway.app(scope | {"state": {}}, receive, send)
    assert len(programs) == MOST + 1
    assert all(each.left for each in programs)
