"""How a watch is requested, and how long it may be silent."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, cast

import httpx2
import pytest
from devctl_observer.kinds.flavors.placed_pods import PLACED, PlacedPod
from devctl_observer.kinds.servers.model import SERVER
from devctl_observer.watching import source
from devctl_observer.watching.children import OURS
from devctl_observer.watching.source import SILENCE, Source
from lightkube.config import client_adapter
from lightkube.resources.core_v1 import Event, Node, Pod

if TYPE_CHECKING:
    from lightkube import AsyncClient


class Client:
    config = None


def watched(
    monkeypatch: pytest.MonkeyPatch,
    kind: Any,
    selectors: Any,
    answers: list[list[dict[str, Any]]],
) -> tuple[list[httpx2.Request], list[tuple[str, str]], list[str]]:
    """The requests, the results and the errors of a watch with these responses."""
    asked: list[httpx2.Request] = []
    ended: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        lines = [json.dumps(event) for event in answers.pop(0)] if answers else []
        return httpx2.Response(200 if lines else 410, text="\n".join(lines))

    def connect(_config: Any, parameters: client_adapter.ConnectionParams) -> httpx2.AsyncClient:
        transport = httpx2.MockTransport(answer)
        return httpx2.AsyncClient(
            base_url="http://api", transport=transport, timeout=parameters.timeout
        )

    async def play() -> list[tuple[str, str]]:
        monkeypatch.setattr(client_adapter, "AsyncClient", connect)
        found = []
        stream = Source(cast("AsyncClient", Client())).watch(kind, "5", selectors)
        try:
            async for operation, obj in stream:
                found.append((operation, obj.metadata.name))
        except httpx2.HTTPError as error:
            ended.append(str(error))
        return found

    return asked, asyncio.run(play()), ended


def event(operation: str, version: int, name: str = "", **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "n", "resourceVersion": str(version)}
    return {"type": operation, "object": {"metadata": metadata, **more}}


def bookmark(version: int, **more: Any) -> dict[str, Any]:
    """A bookmark as the API server sends it, with null fields."""
    metadata = {"resourceVersion": str(version), "creationTimestamp": None}
    return {"type": "BOOKMARK", "object": {"kind": "K", "metadata": metadata, **more}}


@pytest.mark.parametrize(
    ("kind", "empty"),
    [
        (Pod, {"spec": {"containers": None}, "status": {}}),
        (PlacedPod, {"spec": {"containers": None}, "status": {}}),
        (Event, {"involvedObject": {}, "source": {}}),
        (Node, {"spec": {}, "status": {}}),
        (SERVER.resource, {"spec": {}}),
    ],
)
def test_a_watch_goes_on_from_the_last_bookmark(
    monkeypatch: pytest.MonkeyPatch, kind: Any, empty: dict[str, Any]
) -> None:
    asked, found, _ = watched(
        monkeypatch, kind, {}, [[bookmark(7, **empty)], [bookmark(9, **empty)]]
    )
    assert found == []
    assert [request.url.params["resourceVersion"] for request in asked] == ["5", "7", "9"]
    assert {request.url.params["allowWatchBookmarks"] for request in asked} == {"true"}


def test_what_happened_is_told_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [
        [event("ADDED", 6, "a", spec={}), event("DELETED", 7, "b", spec={})],
        [bookmark(8), event("MODIFIED", 9, "a", spec={})],
    ]
    asked, found, _ = watched(monkeypatch, SERVER.resource, {}, answers)
    assert found == [("ADDED", "a"), ("DELETED", "b"), ("MODIFIED", "a")]
    assert [request.url.params["resourceVersion"] for request in asked] == ["5", "7", "9"]
    assert asked[0].url.path == "/apis/devops.yourcompany.com/v1/devservers"


def test_a_version_that_is_too_old_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old"}}
    asked, _, ended = watched(monkeypatch, SERVER.resource, {}, [[gone]])
    assert (len(asked), ended) == (1, ["too old"])


def test_only_what_is_asked_for_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, _, _ = watched(monkeypatch, Pod, OURS, [])
    assert asked[0].url.path == "/api/v1/pods"
    assert asked[0].url.params["labelSelector"] == "app.kubernetes.io/managed-by=devctl"
    asked, _, _ = watched(monkeypatch, PlacedPod, PLACED, [])
    selector = asked[0].url.params["fieldSelector"]
    assert selector == "spec.nodeName!=,status.phase!=Failed,status.phase!=Succeeded"


def test_a_dead_connection_is_noticed_within_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """A live one has ended by then, even without events."""
    asked, _, _ = watched(monkeypatch, Pod, {}, [])
    assert asked[0].extensions["timeout"]["read"] == SILENCE < 60
    assert int(asked[0].url.params["timeoutSeconds"]) == source._RENEW < SILENCE  # noqa: SLF001
