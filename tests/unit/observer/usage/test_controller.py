"""What the ledger does about namespaces, and what it is told."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from devctl_observer.control.process import Clock, Process
from devctl_observer.judging.pods import gpus_of
from devctl_observer.kinds.flavors.model import FLAVOR
from devctl_observer.kinds.servers.observed import Caches
from devctl_observer.kinds.usage.controller import EVERY, UsageController
from devctl_observer.kinds.usage.observed import Sources, finished_at
from devctl_observer.kinds.usage.running import Running
from devctl_observer.watching.children import Children
from devctl_observer.watching.kept import small_pod
from devctl_observer.watching.store import Key, Store
from lightkube import ApiError
from lightkube.models.meta_v1 import Status
from lightkube.resources.core_v1 import Pod

from devctl.api.labels import DEVSERVER
from unit.observer.objects import NOW, container, exited, flavor, pod, server
from unit.observer.usage.test_histories import MemoryBooks

if TYPE_CHECKING:
    from devctl_observer.kinds.servers.model import Server

HERE = Key("dev-alice", "")
OURS = {"labels": {DEVSERVER: "my-dev"}, "creationTimestamp": NOW - timedelta(minutes=11)}


class Api(MemoryBooks):
    """Books, and an API server that may refuse to create any."""

    refusal: ApiError | None = None

    async def time(self) -> Any:
        return NOW

    async def create(self, kind: Any, obj: Any) -> Any:
        if self.refusal:
            raise self.refusal
        return await super().create(kind, obj)


class Place:
    """A ledger without watches."""

    def __init__(self) -> None:
        self.api, self.steady = Api(), 1000.0
        clock = Clock(lambda: NOW + timedelta(seconds=self.steady - 1000), lambda: self.steady)
        children = Children()
        self.flavors: Store[Any] = Store()
        self.caches = Caches(children, self.flavors)
        self.sources = Sources(self.caches, Store(), self.flavors)
        self.running = Running(self.sources, clock)
        api: Any = self.api
        self.controller = UsageController(self.running, Process(children, api, clock))
        self.flavors.put(Key("", "cpu-small"), 1, flavor(price={"perHour": 1}))
        self.know(server())

    def know(self, one: Server) -> None:
        key = Key(one.metadata.namespace, one.metadata.name)
        old = self.caches.servers.get(key)
        self.caches.servers.put(key, 1, one)
        self.running.server(old, one)

    def look(self) -> float | None:
        return asyncio.run(self.controller.look(HERE))

    @property
    def lines(self) -> list[dict[str, Any]]:
        (book,) = self.api.objects.values()
        found: list[dict[str, Any]] = book["spec"]["lines"]
        return found


@pytest.fixture
def place() -> Place:
    return Place()


def test_what_runs_is_written_now_and_every_five_minutes(place: Place) -> None:
    assert place.running.pod(None, pod(meta=OURS)) == {"dev-alice"}
    assert place.look() == EVERY
    (line,) = place.lines
    assert (line["owner"], line["name"], line["seconds"]) == ("alice", "my-dev", 600)
    assert line["cost"] == 1_000_000 * 600 // 3600
    # Many pods start together.
    place.steady += 2
    assert place.look() == 3
    place.steady += 298
    place.look()
    assert place.lines[0]["seconds"] == 900
    assert place.running.pod(pod(meta=OURS), None) == {"dev-alice"}
    place.steady += 10
    assert place.look() is None


def test_a_namespace_that_is_being_deleted_is_forgotten(place: Place) -> None:
    causes = [{"reason": "NamespaceTerminating"}]
    raw = {"code": 403, "details": {"causes": causes}}
    place.api.refusal = ApiError(status=msgspec.convert(raw, Status))
    place.running.pod(None, pod(meta=OURS))
    assert place.look() is None
    place.api.refusal = None
    assert place.look() is None
    assert place.api.objects == {}


def test_another_refusal_is_an_error(place: Place) -> None:
    place.api.refusal = ApiError(status=Status(code=int(HTTPStatus.FORBIDDEN), message="no right"))
    place.running.pod(None, pod(meta=OURS))
    with pytest.raises(ApiError, match="no right"):
        place.look()


def test_a_deleted_flavor_keeps_its_price_and_a_job_needs_none(place: Place) -> None:
    place.running.pod(None, pod(meta=OURS))
    place.flavors.drop(Key("", "cpu-small"))
    assert place.running.flavor("cpu-small") == set()
    place.look()
    assert place.lines[0]["perHour"] == 1_000_000
    place.flavors.put(Key("", "cpu-small"), 2, FLAVOR.parse({"metadata": {"name": "cpu-small"}}))
    assert place.running.flavor("cpu-small") == {"dev-alice"}


def test_only_pods_of_servers_and_of_jobs_count(place: Place) -> None:
    assert place.running.pod(None, pod()) == set()
    helper = pod(meta={"labels": {"gpu.yourdomain.io/job": "train"}})
    assert place.running.pod(None, helper) == set()


def test_it_is_known_when_a_server_becomes_idle(place: Place) -> None:
    place.running.pod(None, pod(meta=OURS))
    place.look()
    idle = server({"idle": {"since": "2026-11-21T11:59:00Z"}})
    assert place.running.server(server(), idle) == {"dev-alice"}
    assert place.running.server(idle, idle) == set()
    place.steady += 100
    assert place.running.server(idle, server()) == {"dev-alice"}
    place.steady += 100
    place.look()
    assert place.lines[0]["idleSeconds"] == 100


@pytest.mark.parametrize("name", ["nvidia.com/gpu", "canhazgpu.com/gpu"])
def test_gpus_are_kept_of_a_pod(name: str) -> None:
    limits = {name: "2", "cpu": "1"}
    one = {"name": "a", "resources": {"limits": limits}}
    raw = {"metadata": {"name": "p"}, "spec": {"containers": [one, one | {"name": "b"}]}}
    small = small_pod(msgspec.convert(raw, Pod))
    assert gpus_of(small) == gpus_of(small_pod(small)) == 4
    assert small.spec is not None
    assert len(small.spec.containers) == 1
    assert gpus_of(pod()) == 0


def test_a_pod_has_finished_when_all_of_its_containers_have() -> None:
    ended = container(state=exited(0, "Completed", finishedAt=NOW))
    assert finished_at(pod(containerStatuses=[ended])) == int(NOW.timestamp())
    assert finished_at(pod(containerStatuses=[ended, container()])) is None
    assert finished_at(pod(containerStatuses=[])) is None
