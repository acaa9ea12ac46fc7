"""Each operation of the GPU workers API: all that can be asked, and all that is answered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, get_type_hints

import httpx2
import msgspec
import pytest
from support.sockets import socket_disabled  # noqa: F401 - pytest looks for it here

from devctl.client.async_workers import AsyncWorkers
from devctl.client.workers.generated import calls, models
from devctl.client.workers.jobs import NewWorkerJob
from devctl.client.workers.records import Record
from devctl.client.workers.workers import Workers
from devctl.errors import DevctlError
from unit.client.workers_examples import AT, DOCUMENT, example
from unit.client.workers_things import TOKEN, URL, problem

if TYPE_CHECKING:
    from collections.abc import Callable

OPERATIONS = {
    details["operationId"]: (method.upper(), path, details)
    for path, methods in DOCUMENT["paths"].items()
    for method, details in methods.items()
}
JSON, CSV = "application/json", "text/csv"
VALUES = {int | None: 1, bool | None: True, datetime | None: datetime.fromisoformat(AT)}
LEFT_OUT = {"format"}
"""A parameter that the header Accept stands for."""


class Asked:
    """One operation, with all that it can be asked, and an answer with all that it can have."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.method, self.path, self.details = OPERATIONS[name]
        self.parameters = self.details.get("parameters", [])
        self.query = {each["name"] for each in self.parameters if each["in"] == "query"} - LEFT_OUT
        responses = self.details["responses"]
        self.answer = responses[min(status for status in responses if status.startswith("2"))]
        self.content = self.answer.get("content", {})

    def body(self) -> Any:
        """What a request says, if it says anything."""
        asked = self.details.get("requestBody")
        return example(asked["content"][JSON]["schema"]) if asked else None

    def answered(self) -> Any:
        """What is answered."""
        if not self.content:
            return None
        found = example(next(iter(self.content.values()))["schema"])
        return found | {"next_cursor": None} if self.is_page else found

    @property
    def is_page(self) -> bool:
        return "PageOf_" in self.content.get(JSON, {}).get("schema", {}).get("$ref", "")

    @property
    def is_text(self) -> bool:
        return bool(self.content) and JSON not in self.content

    def arguments(self) -> dict[str, Any]:
        """Of the method."""
        method = getattr(calls.Calls, self.name)
        here = {"Iterator": Iterator, "datetime": datetime}
        known = get_type_hints(method, {**vars(calls), **here})
        return {
            name: msgspec.convert(self.body(), kind) if name == "body" else VALUES.get(kind, "x-1")
            for name, kind in known.items()
            if name != "return"
        }

    def check(self, request: httpx2.Request) -> None:
        """That a request says all of it, in the right place."""
        where = self.path
        for each in self.parameters:
            where = where.replace(f"{{{each['name']}}}", "x-1")
        assert (request.method, request.url.path) == (self.method, where)
        # The first page has no cursor.
        assert {*request.url.params} == self.query - ({"cursor"} if self.is_page else set())
        assert (json.loads(request.content) if request.content else None) == self.body()
        headers = {each["name"] for each in self.parameters if each["in"] == "header"}
        assert request.headers.get("Idempotency-Key") == ("x-1" if headers else None)


def plain(found: Any) -> Any:
    """What a call has returned, as JSON has it."""
    if isinstance(found, bytes):
        return found.decode()
    return found.raw if isinstance(found, Record) else found


@dataclass
class Recorder:
    """Answers each request the same."""

    answer: httpx2.Response = field(default_factory=lambda: httpx2.Response(204))
    asked: list[httpx2.Request] = field(default_factory=list)

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request)
        return self.answer


@pytest.fixture
def api() -> Recorder:
    return Recorder()


@pytest.fixture
def workers(api: Recorder, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workers]:
    monkeypatch.setattr("devctl.client.workers.api._sleep", lambda _: None)
    with Workers(URL, TOKEN, transport=httpx2.MockTransport(api)) as found:
        yield found


def called(workers: Workers, asked: Asked) -> Any:
    found = getattr(workers.api, asked.name)(**asked.arguments())
    return [plain(each) for each in found] if isinstance(found, Iterator) else plain(found)


def awaited(workers: Workers, asked: Asked) -> Any:
    async def run() -> Any:
        found = getattr(AsyncWorkers(workers).api, asked.name)(**asked.arguments())
        if isinstance(found, AsyncIterator):
            return [plain(each) async for each in found]
        return plain(await found)

    return asyncio.run(run())


@pytest.mark.parametrize("call", [called, awaited])
@pytest.mark.parametrize("name", OPERATIONS)
def test_nothing_is_lost_that_is_asked_or_answered(
    name: str, call: Callable[[Workers, Asked], Any], api: Recorder, workers: Workers
) -> None:
    asked = Asked(name)
    answer = asked.answered()
    if asked.is_text:
        api.answer = httpx2.Response(200, text=answer)
    elif answer is not None:
        api.answer = httpx2.Response(200, json=answer)
    found = call(workers, asked)
    if asked.is_page:
        assert found == answer["items"]
    else:
        assert found == ([answer] if asked.is_text else answer)
    (request,) = api.asked
    asked.check(request)


def test_an_invoice_is_also_a_table(api: Recorder, workers: Workers) -> None:
    api.answer = httpx2.Response(200, text="job_id,kind\n")
    assert workers.api.get_invoice_csv("2026-05", account="acc-1") == "job_id,kind\n"
    assert api.asked[0].headers["Accept"] == CSV
    assert api.asked[0].url.params["account"] == "acc-1"


def test_a_new_job_has_all_that_can_be_asked_for() -> None:
    words: dict[str, Any] = dict.fromkeys(("queue", "priority", "strategy"), "x")
    words |= dict.fromkeys(("gpus", "gpu_memory", "cores", "memory", "timeout", "retries"), 1)
    new = NewWorkerJob("a", "b", ["c"], ["d"], input={"e": 1}, env={"F": "g"}, **words)
    assert new.request().raw.keys() == {*models.NewJob.__struct_fields__}


def test_the_apis_own_request_is_submitted_as_it_is(api: Recorder, workers: Workers) -> None:
    api.answer = httpx2.Response(201, json=example({"$ref": "#/components/schemas/Job"}))
    workers.jobs.submit(models.NewJob(job_name="a", docker_image="b"))
    assert json.loads(api.asked[0].content) == {"job_name": "a", "docker_image": "b"}
    assert api.asked[0].headers["Idempotency-Key"]


@pytest.mark.parametrize(
    ("name", "times"), [("readyz", 1), ("get_job", 4), ("cancel_job", 4), ("change_node", 1)]
)
def test_only_what_does_nothing_again_is_repeated(
    name: str, times: int, api: Recorder, workers: Workers
) -> None:
    api.answer = problem(503, "not now")
    with pytest.raises(DevctlError, match="not now"):
        called(workers, Asked(name))
    assert len(api.asked) == times
