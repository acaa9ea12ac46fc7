"""Waiting for a server: until it is ready, with the real reason where it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from devctl.client import servers as module
from devctl.client import waiting
from devctl.client.servers import Servers
from devctl.errors import DeniedError, DevctlError, NotFoundError, WaitTimeoutError
from unit.client.objects import NAMESPACE, SERVERS, Thing, server

if TYPE_CHECKING:
    from collections.abc import Callable

    from devctl.client.servers import Server
    from unit.client.fake_cluster import FakeApi

KEY = (SERVERS, NAMESPACE, "lab")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_RETRY", 0.01)
    monkeypatch.setattr(module, "_PATIENCE", 0.02)


@pytest.fixture
def servers(api: FakeApi) -> Servers:
    return Servers(api.cluster())


def becomes(api: FakeApi, thing: Thing) -> Callable[[], None]:
    return lambda: api.things[KEY].update(spec=thing["spec"], status=thing["status"])


def test_each_change_is_told_once_until_it_is_ready(api: FakeApi, servers: Servers) -> None:
    api.add(SERVERS, server("lab", ""))
    api.then = [
        becomes(api, server("lab", "Pending", reason="Unschedulable")),
        becomes(api, server("lab", "Starting", reason="ImagePulling")),
        becomes(api, server()),
    ]
    seen: list[str] = []
    found = servers.wait_ready("lab", 60, lambda server: seen.append(server.reason))
    assert found.ready
    assert seen == ["", "Unschedulable", "ImagePulling", "Running"]


def test_one_that_is_not_ready_in_time_says_why(api: FakeApi, servers: Servers) -> None:
    api.add(SERVERS, server("lab", "Pending", reason="Unschedulable", message="no GPU is free"))
    with pytest.raises(WaitTimeoutError) as raised:
        servers.wait_ready("lab", 0.05)
    assert raised.value.message.endswith("(Pending): Unschedulable: no GPU is free")
    assert "devctl describe lab" in raised.value.fix
    api.add(SERVERS, server("lab", ""))
    with pytest.raises(WaitTimeoutError, match="the operator has not looked at it yet"):
        servers.wait_ready("lab", 0.05)
    with pytest.raises(WaitTimeoutError):
        servers.wait_ready("lab", 0)


def test_one_that_will_not_run_is_not_waited_for_long(api: FakeApi, servers: Servers) -> None:
    api.add(SERVERS, server("lab", "Failed", reason="InvalidFlavor", message="no flavor `x`"))
    api.then = [lambda: None]
    with pytest.raises(DevctlError, match="`lab` cannot run: InvalidFlavor: no flavor `x`"):
        servers.wait_ready("lab", 60)


def test_a_failure_that_mends_itself_is_none(
    api: FakeApi, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PATIENCE", 60)
    api.add(SERVERS, server("lab", "Failed", reason="ImagePullFailed"))
    api.then = [becomes(api, server())]
    assert servers.wait_ready("lab", 60).ready


def test_what_it_was_before_a_change_counts_for_nothing(api: FakeApi, servers: Servers) -> None:
    api.add(SERVERS, server())
    api.things[KEY]["metadata"]["generation"] = 2
    with pytest.raises(WaitTimeoutError):
        servers.wait_ready("lab", 0.05)


def test_one_that_is_stopped_is_not_waited_for(api: FakeApi, servers: Servers) -> None:
    api.add(SERVERS, server("lab", "Starting"))
    api.then = [becomes(api, server("lab", "Stopping"))]
    with pytest.raises(DevctlError, match="`lab` is stopped") as raised:
        servers.wait_ready("lab", 60)
    assert "devctl start lab" in raised.value.fix


def test_one_that_is_deleted_meanwhile(api: FakeApi, servers: Servers) -> None:
    api.add(SERVERS, server("lab", "Starting"))
    api.then = [lambda: api.drop(SERVERS, "lab")]
    with pytest.raises(NotFoundError, match="was deleted while it was waited for") as raised:
        servers.wait_ready("lab", 60)
    assert "devctl homes list" in raised.value.fix
    with pytest.raises(NotFoundError, match="`lab` was deleted while it was waited for"):
        servers.wait_ready("lab", 60)


def test_it_is_waited_for_until_it_has_stopped(api: FakeApi, servers: Servers) -> None:
    api.add(SERVERS, server("lab", "Stopping"))
    with pytest.raises(WaitTimeoutError, match="has not stopped"):
        servers.wait_stopped("lab", 0.05)
    api.then = [becomes(api, server("lab", "Stopped"))]
    assert servers.wait_stopped("lab", None).replicas == []
    api.then = []
    api.add(SERVERS, server())
    with pytest.raises(DevctlError, match="started meanwhile"):
        servers.wait_stopped("lab", 60)


@pytest.mark.parametrize("code", [410, 429, 500, 503, 504])
def test_an_api_server_that_stumbles_is_asked_again(
    api: FakeApi, servers: Servers, code: int
) -> None:
    api.add(SERVERS, server("lab", "Starting"))
    asked = 0

    def stumble() -> None:
        api.refusals["GET", SERVERS] = (code, "not now")

    def recover(found: Server) -> None:
        nonlocal asked
        asked += 1
        assert found.name == "lab"

    class Recovers(list[str]):
        def append(self, request: str) -> None:
            super().append(request)
            if len(self) == 4:
                api.refusals.clear()
                becomes(api, server())()

    api.requests = Recovers()
    api.then = [stumble]
    assert servers.wait_ready("lab", 60, recover).ready
    assert asked == 2


def test_rights_that_are_taken_away_end_it(api: FakeApi, servers: Servers) -> None:
    api.add(SERVERS, server("lab", "Starting"))

    def deny() -> None:
        api.refusals["GET", SERVERS] = (401, "expired")

    api.then = [deny]
    with pytest.raises(DeniedError, match="does not accept your credentials: expired"):
        servers.wait_ready("lab", 60)
