"""The requests on the wire, against a fake API server that is a function."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from devctl_observer.control.cluster_api import ClusterApi
from devctl_observer.control.election import LeadershipLostError
from devctl_observer.control.process import Clock
from devctl_observer.judging.model import Meta, Transition
from devctl_observer.kinds.artifacts.claims import CLAIM
from devctl_observer.kinds.flavors.model import FLAVOR
from devctl_observer.kinds.gpu_worker_node.model import NODE
from devctl_observer.kinds.jobs.model import JOB
from devctl_observer.kinds.servers.model import SERVER
from devctl_observer.observer import Observer
from lightkube import ApiError, AsyncClient, KubeConfig
from lightkube.config import client_adapter
from lightkube.config.models import Cluster, User
from lightkube.resources.core_v1 import Node, Pod

from unit.observer.objects import asks, server
from unit.observer.running import eventually, figure

if TYPE_CHECKING:
    from collections.abc import Callable

    Answer = Callable[[httpx2.Request], httpx2.Response]

PATH = "/apis/devops.yourcompany.com/v1/namespaces/dev-alice/devservers/my-dev"
PLACED = "spec.nodeName!=,status.phase!=Failed,status.phase!=Succeeded"
STORED = {"metadata": {"name": "my-dev", "namespace": "dev-alice", "uid": "u-1"}, "spec": {}}


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Callable[[Answer], AsyncClient]:
    """A client of an API server with these responses."""

    def client(answer: Answer) -> AsyncClient:
        def plain(*_: object) -> httpx2.AsyncClient:
            transport = httpx2.MockTransport(answer)
            return httpx2.AsyncClient(base_url="http://api", transport=transport)

        config = KubeConfig.from_one(cluster=Cluster(server="http://api"), user=User(username="u"))
        made = AsyncClient(config, transport=httpx2.MockTransport(answer))
        monkeypatch.setattr(client_adapter, "AsyncClient", plain)
        return made

    return client


def recorder() -> tuple[list[httpx2.Request], Answer]:
    """The requests from now on, and the server that responds to them."""
    asked: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return httpx2.Response(200, json=STORED)

    return asked, answer


def leads() -> bool:
    return True


def refusal(code: int) -> httpx2.Response:
    status = {"kind": "Status", "code": code, "message": "no", "details": {"name": "my-dev"}}
    headers = {"Date": "Sat, 21 Nov 2026 12:00:00 GMT"}
    status |= {"reason": "NotFound"} if code == 404 else {}
    return httpx2.Response(code, json=status, headers=headers)


@pytest.mark.parametrize(
    "body", [{}, [], {"reason": "NotFound"}, {"reason": "NotFound", "details": {"name": "other"}}]
)
def test_a_path_that_nobody_serves_is_no_object_that_is_gone(
    connect: Callable[[Answer], AsyncClient], body: Any
) -> None:
    async def play() -> None:
        api = ClusterApi(connect(lambda _: httpx2.Response(404, json=body)), leads)
        with pytest.raises(httpx2.HTTPError):
            await api.read(SERVER, server().metadata)

    asyncio.run(play())


def test_a_status_is_applied_to_that_very_object(
    connect: Callable[[Answer], AsyncClient],
) -> None:
    asked, answer = recorder()

    async def play() -> None:
        api = ClusterApi(connect(answer), leads)
        await api.apply_status(SERVER, server().metadata, {"phase": "Running"})
        await api.apply_status(FLAVOR, Meta("gpu", uid="f"), {"schedulable": True})

    asyncio.run(play())
    first, second = asked
    assert (first.method, first.url.path) == ("PATCH", f"{PATH}/status")
    assert dict(first.url.params) == {"fieldManager": "devctl-observer", "force": "true"}
    assert first.headers["Content-Type"] == "application/apply-patch+yaml"
    assert json.loads(first.content) == {
        "apiVersion": "devops.yourcompany.com/v1",
        "kind": "DevServer",
        "metadata": {
            "name": "my-dev",
            "namespace": "dev-alice",
            "uid": "u-1",
            "resourceVersion": "100",
        },
        "status": {"phase": "Running"},
    }
    assert second.url.path == "/apis/devops.yourcompany.com/v1/devserverflavors/gpu/status"


def test_who_may_not_lead_any_more_writes_nothing(
    connect: Callable[[Answer], AsyncClient],
) -> None:
    asked, answer = recorder()

    async def play() -> None:
        api, meta = ClusterApi(connect(answer), lambda: False), server().metadata
        for write in (
            api.apply_status(SERVER, meta, {}),
            api.wake(SERVER, meta, "v"),
            api.tell(SERVER, meta, "1", Transition("Normal", "Running", "it runs")),
            api.delete(SERVER, meta),
        ):
            with pytest.raises(LeadershipLostError):
                await write

    asyncio.run(play())
    assert asked == []


def test_a_right_that_is_missing_is_told_until_it_is_there(
    connect: Callable[[Answer], AsyncClient],
) -> None:
    allowed = False

    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, json=STORED) if allowed else refusal(403)

    async def play() -> None:
        nonlocal allowed
        api, meta = ClusterApi(connect(answer), leads), server().metadata
        for write in (api.apply_status(SERVER, meta, {}), api.wake(SERVER, meta, "v")):
            with pytest.raises(ApiError, match=r"^no$"):
                await write
        assert api.refused == {"DevServer": "no"}
        allowed = True
        await api.apply_status(FLAVOR, Meta("gpu", uid="f"), {})
        assert api.refused
        await api.apply_status(SERVER, meta, {})
        assert api.refused == {}

    asyncio.run(play())


def test_a_role_is_woken_by_one_annotation_of_that_very_object(
    connect: Callable[[Answer], AsyncClient],
) -> None:
    asked, answer = recorder()

    async def play() -> None:
        await ClusterApi(connect(answer), leads).wake(SERVER, server().metadata, "v")

    asyncio.run(play())
    assert [(r.method, r.url.path) for r in asked] == [("PATCH", PATH)]
    assert dict(asked[0].url.params) == {"fieldManager": "devctl-observer", "force": "true"}
    assert asked[0].headers["Content-Type"] == "application/apply-patch+yaml"
    assert json.loads(asked[0].content) == {
        "apiVersion": "devops.yourcompany.com/v1",
        "kind": "DevServer",
        "metadata": {
            "name": "my-dev",
            "namespace": "dev-alice",
            "uid": "u-1",
            "resourceVersion": "100",
            "annotations": {"devops.yourcompany.com/wake": "v"},
        },
    }


def test_a_deletion_names_uid_and_version_and_reading_tells_the_servers_time(
    connect: Callable[[Answer], AsyncClient],
) -> None:
    asked: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        headers = {"Date": "Sat, 21 Nov 2026 12:00:00 GMT"}
        return httpx2.Response(200, json=STORED, headers=headers)

    async def play() -> None:
        api = ClusterApi(connect(answer), leads)
        fresh = await api.read(SERVER, server().metadata)
        assert fresh.item
        assert fresh.item.metadata.uid == "u-1"
        assert fresh.clock == datetime(2026, 11, 21, 12, tzinfo=UTC)
        assert await api.delete(SERVER, server().metadata)

    asyncio.run(play())
    assert [(r.method, r.url.path) for r in asked] == [("GET", PATH), ("DELETE", PATH)]
    body = json.loads(asked[1].content)
    assert body["preconditions"] == {"uid": "u-1", "resourceVersion": "100"}


@pytest.mark.parametrize("code", [404, 409])
def test_what_is_gone_or_another_is_not_deleted(
    connect: Callable[[Answer], AsyncClient], code: int
) -> None:
    async def play() -> None:
        api = ClusterApi(connect(lambda _: refusal(code)), leads)
        assert not await api.delete(SERVER, server().metadata)
        if code == 404:
            assert (await api.read(SERVER, server().metadata)).item is None

    asyncio.run(play())


def test_a_node_offers_a_resource_until_it_is_removed(
    connect: Callable[[Answer], AsyncClient],
) -> None:
    asked, answer = recorder()
    api = ClusterApi(connect(answer), leads)
    for amount in ("2", None):
        assert asyncio.run(api.offer(NODE, Meta("node-1", "u-1"), {"example.com/x": amount}))
    for request, amount in zip(asked, ("2", None), strict=True):
        assert (request.method, request.url.path) == ("PATCH", "/api/v1/nodes/node-1/status")
        assert request.headers["Content-Type"] == "application/merge-patch+json"
        offered = {"example.com/x": amount}
        assert json.loads(request.content) == {
            "status": {"capacity": offered, "allocatable": offered}
        }
    gone = ClusterApi(connect(lambda _: refusal(404)), leads)
    assert not asyncio.run(gone.offer(NODE, Meta("node-1", "u-1"), {"example.com/x": "2"}))


@pytest.mark.parametrize(
    ("code", "result"),
    [(200, "ok"), (403, "forbidden"), (404, "gone"), (409, "conflict"), (422, "failed")],
)
def test_what_comes_of_a_write_is_counted(
    connect: Callable[[Answer], AsyncClient], code: int, result: str
) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        made = json.loads(request.content) if request.method == "POST" else STORED
        return httpx2.Response(200, json=made) if code == 200 else refusal(code)

    async def play() -> None:
        api, meta = ClusterApi(connect(answer), leads), server().metadata
        said = Transition("Normal", "Running", "it runs")
        told = api.tell(SERVER, meta, "7", said)
        for write in (api.apply_status(SERVER, meta, {}), api.delete(SERVER, meta), told):
            with suppress(httpx2.HTTPError):
                await write

    before = figure("writes_total", result=result)
    asyncio.run(play())
    assert figure("writes_total", result=result) == before + 3


def test_a_write_that_is_not_answered_has_failed(
    connect: Callable[[Answer], AsyncClient],
) -> None:
    def answer(_: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("away")

    async def play() -> None:
        with pytest.raises(httpx2.ConnectError):
            await ClusterApi(connect(answer), leads).delete(SERVER, server().metadata)

    before = figure("writes_total", result="failed")
    asyncio.run(play())
    assert figure("writes_total", result="failed") == before + 1


def test_the_same_transition_is_the_same_event(connect: Callable[[Answer], AsyncClient]) -> None:
    names: list[str] = []
    code = 201

    def answer(request: httpx2.Request) -> httpx2.Response:
        event = json.loads(request.content)
        names.append(event["metadata"]["name"])
        return httpx2.Response(201, json=event) if code == 201 else refusal(code)

    async def play() -> None:
        nonlocal code
        api, said = ClusterApi(connect(answer), leads), Transition("Normal", "Running", "it runs")
        await api.tell(SERVER, server().metadata, "7", said)
        for code in (409, 403):  # noqa: B007 - read by the answer
            await api.tell(SERVER, server().metadata, "7", said)
        code = 500
        with pytest.raises(httpx2.HTTPError):
            await api.tell(SERVER, server().metadata, "8", said)

    asyncio.run(play())
    assert len(set(names[:3])) == 1
    assert names[3] not in names[:3]


def test_an_event_about_what_has_no_namespace_is_in_the_default_one(
    connect: Callable[[Answer], AsyncClient],
) -> None:
    """Kubernetes refuses it anywhere else but in kube-system (ValidateEventCreate)."""
    asked: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return httpx2.Response(201, json=json.loads(request.content))

    meta = Meta("cpu-small", uid="u-2")
    said = Transition("Warning", "Unschedulable", "no node has room")
    asyncio.run(ClusterApi(connect(answer), leads).tell(FLAVOR, meta, "7", said))
    event = json.loads(asked[0].content)
    assert asked[0].url.path == "/api/v1/namespaces/default/events"
    assert event["metadata"]["namespace"] == "default"
    assert "namespace" not in event["involvedObject"]


def test_a_claim_gets_a_condition_and_notes_and_goes(
    connect: Callable[[Answer], AsyncClient],
) -> None:
    asked: list[httpx2.Request] = []
    stored = {"metadata": {"name": "artifacts-j", "namespace": "n", "uid": "c"}, "items": []}

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return httpx2.Response(200, json=stored)

    async def play() -> None:
        api = ClusterApi(connect(answer), leads)
        meta = Meta("artifacts-j", uid="c", namespace="n", resource_version="7")
        applied = await api.apply_status(CLAIM, meta, {"conditions": []})
        assert CLAIM.parse(applied).metadata
        await api.annotate(CLAIM, meta, {"a": "b"})
        await api.annotate(CLAIM, meta, {})
        await api.wake(JOB, Meta("j", uid="u", namespace="n"), "v")
        assert await api.delete(CLAIM, meta)
        assert await api.list_now(Pod, "n") == []
        assert await api.list_now(Node) == []
        assert await api.list_now(Pod, "n", "p") == []

    asyncio.run(play())
    path = "/api/v1/namespaces/n/persistentvolumeclaims/artifacts-j"
    job = "/apis/gpu.yourdomain.io/v1alpha1/namespaces/n/ephemeralaccelerationjobs/j"
    assert [(r.method, r.url.path) for r in asked] == [
        ("PATCH", f"{path}/status"),
        ("PATCH", path),
        ("PATCH", path),
        ("PATCH", job),
        ("DELETE", path),
        ("GET", "/api/v1/namespaces/n/pods"),
        ("GET", "/api/v1/nodes"),
        ("GET", "/api/v1/namespaces/n/pods"),
    ]
    first, noted, emptied, woken, deleted, listed, _, named = asked
    meta = {"name": "artifacts-j", "namespace": "n", "uid": "c", "resourceVersion": "7"}
    assert named.url.params["fieldSelector"] == "metadata.name=p"
    assert json.loads(first.content) == {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": meta,
        "status": {"conditions": []},
    }
    assert dict(first.url.params) == {"fieldManager": "devctl-observer", "force": "true"}
    assert json.loads(noted.content)["metadata"]["annotations"] == {"a": "b"}
    assert json.loads(emptied.content)["metadata"]["annotations"] == {}
    assert json.loads(woken.content)["metadata"]["annotations"] == {"gpu.yourdomain.io/wake": "v"}
    preconditions = json.loads(deleted.content)["preconditions"]
    assert preconditions == {"uid": "c", "resourceVersion": "7"}
    # With a version, the API server might respond from its cache.
    assert "resourceVersion" not in listed.url.params


def test_the_whole_observer_writes_each_status_once(
    connect: Callable[[Answer], AsyncClient],
) -> None:
    items: dict[str, dict[str, Any]] = {
        "devservers": {
            "metadata": STORED["metadata"] | {"resourceVersion": "5", "generation": 1},
            "spec": {"flavor": "small"},
        },
        "devserverflavors": {
            "metadata": {"name": "small", "resourceVersion": "6", "generation": 1},
            "spec": {"resources": {"requests": {"cpu": 1}}},
        },
        "ephemeralaccelerationjobs": {
            "metadata": {
                "name": "my-job",
                "namespace": "dev-alice",
                "uid": "j-1",
                "resourceVersion": "7",
                "generation": 1,
            },
            "spec": {"model": "resnet50"},
        },
    }
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    items["nodes"] = {
        "metadata": {"name": "node-a", "resourceVersion": "1"},
        "status": ready | {"allocatable": {"cpu": "4", "pods": "110"}},
    }
    foreign = {
        "metadata": {"name": "other", "namespace": "x", "resourceVersion": "2"},
        "spec": {"nodeName": "node-a", "containers": [asks(cpu="1500m")]},
    }
    written: dict[str, dict[str, Any]] = {}
    told: list[str] = []
    listed: Counter[str] = Counter()

    def answer(request: httpx2.Request) -> httpx2.Response:
        parts = request.url.path.split("/")
        if request.method == "PATCH":
            kind = parts[-3]
            assert kind not in written
            written[kind] = json.loads(request.content)["status"]
            stored = items[kind] | {"status": written[kind]}
            metadata = stored["metadata"] | {"resourceVersion": "9"}
            return httpx2.Response(200, json=stored | {"metadata": metadata})
        if request.method == "POST":
            told.append(json.loads(request.content)["reason"])
            return httpx2.Response(201, content=request.content)
        if request.url.params.get("watch"):
            return refusal(410)
        listed[parts[-1]] += 1
        found = [items[parts[-1]]] if parts[-1] in items else []
        if request.url.params.get("fieldSelector", "").startswith("spec.nodeName"):
            assert request.url.params["fieldSelector"] == PLACED
            assert request.url.path == "/api/v1/pods"
            found = [foreign]
        return httpx2.Response(200, json={"metadata": {"resourceVersion": "8"}, "items": found})

    async def play() -> None:
        client = connect(answer)
        observer = Observer(client, ClusterApi(client, leads), Clock())
        queues = [queue for family in observer.families for queue, _ in family.queues]

        def idle() -> bool:
            return not any(queue.waiting or queue._running for queue in queues)  # noqa: SLF001

        task = asyncio.ensure_future(observer.run())
        await eventually(lambda: len(told) >= 2 and len(written) >= 3)
        # Every watch fails and everything is listed again, without any change.
        before = Counter(listed)
        await eventually(lambda: all(listed[kind] > before[kind] + 2 for kind in items))
        await eventually(idle)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    kinds = ("devserver", "job")
    before = [figure("status_writes_total", kind=kind) for kind in kinds]
    asyncio.run(play())
    assert written["devservers"]["phase"] == "Pending"
    counted = {name: written["devserverflavors"][name] for name in ("total", "free")}
    assert counted == {"total": 4, "free": 2}
    assert written["devserverflavors"]["schedulable"] is True
    assert figure("placed_pods") == 1
    assert written["ephemeralaccelerationjobs"]["reason"] == "NotApplied"
    assert sorted(told) == ["NotApplied", "Pending"]
    after = [figure("status_writes_total", kind=kind) for kind in kinds]
    assert after == [count + 1 for count in before]
    assert figure("jobs", phase="Pending") == 1
