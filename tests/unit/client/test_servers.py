"""Servers: what is known of one; created, stopped, started, kept for longer and deleted."""

from __future__ import annotations

import doctest
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest

from devctl.api.devserver import Phase
from devctl.client import objects, waiting
from devctl.client.servers import Server, Servers
from devctl.errors import (
    AlreadyExistsError,
    DeniedError,
    DevctlError,
    NotFoundError,
    UsageError,
    WaitTimeoutError,
)
from devctl.kube.cluster import EVERYWHERE
from unit.client.objects import (
    FLAVORS,
    NAMESPACE,
    NOW,
    PODS,
    SERVERS,
    ago,
    flavor,
    pod,
    server,
    settings,
)

if TYPE_CHECKING:
    from unit.client.fake_cluster import FakeApi

KEY = (SERVERS, NAMESPACE, "lab")


@pytest.fixture
def servers(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> Servers:
    monkeypatch.setattr(waiting, "_POLL", 0.01)
    api.add("configmaps", settings(image="servers:1"))
    api.add(FLAVORS, flavor("cpu-small", default=True), flavor("gpu-large"))
    return Servers(api.cluster())


def test_who_names_nothing_gets_the_defaults(api: FakeApi, servers: Servers) -> None:
    made = servers.create("lab")
    assert (made.owner, made.image, made.flavor) == ("alice@company.com", "servers:1", "")
    assert api.names(SERVERS) == ["lab"]


def test_the_environment_names_an_image(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEVCTL_IMAGE", "mine:1")
    assert servers.manifest("lab")["spec"]["image"] == "mine:1"
    assert servers.manifest("lab", image="other:1")["spec"]["image"] == "other:1"


def test_without_an_image_it_is_said_who_names_one(api: FakeApi, servers: Servers) -> None:
    api.drop("configmaps", "devctl-settings")
    with pytest.raises(UsageError, match="no image is named") as raised:
        servers.create("lab")
    assert "--image or DEVCTL_IMAGE" in raised.value.fix
    assert api.names(SERVERS) == []


def test_a_dry_run_makes_nothing(api: FakeApi, servers: Servers) -> None:
    assert servers.create("lab", dry_run=True, flavor="gpu-large").flavor == "gpu-large"
    assert api.names(SERVERS) == []


def test_a_name_is_taken_once(servers: Servers) -> None:
    servers.create("lab")
    with pytest.raises(AlreadyExistsError, match="server `lab` already exists") as raised:
        servers.create("lab")
    assert "choose another name" in raised.value.fix


def test_a_flavor_has_to_be_there(api: FakeApi, servers: Servers) -> None:
    with pytest.raises(NotFoundError, match="there is no flavor `big`"):
        servers.create("lab", flavor="big")
    api.drop(FLAVORS, "cpu-small")
    with pytest.raises(UsageError, match="no flavor is the default") as raised:
        servers.create("lab")
    assert "`gpu-large`" in raised.value.fix
    api.add(FLAVORS, flavor("a", default=True), flavor("b", default=True))
    with pytest.raises(UsageError, match="2 flavors are the default"):
        servers.create("lab")
    assert api.names(SERVERS) == []


def test_who_may_not_see_flavors_is_told_by_the_operator(api: FakeApi, servers: Servers) -> None:
    api.refusals["GET", FLAVORS] = (403, "devserverflavors is forbidden")
    assert servers.create("lab").name == "lab"


def test_rights_and_quotas_are_denials(api: FakeApi, servers: Servers) -> None:
    api.refusals["POST", SERVERS] = (403, "exceeded quota: servers")
    with pytest.raises(DeniedError, match="exceeded quota"):
        servers.create("lab")


@pytest.mark.parametrize("name", ["", "A", "a/b", "../x", "a b"])
def test_a_name_that_none_can_have_is_never_asked_for(
    api: FakeApi, servers: Servers, name: str
) -> None:
    for act in (servers.get, servers.create, servers.stop, servers.delete, servers.wait_ready):
        with pytest.raises(UsageError, match="cannot be a server's name"):
            act(name)
    assert api.requests == []


def test_one_that_is_not_there_is_told_from_a_kind_that_is_not(
    api: FakeApi, servers: Servers
) -> None:
    with pytest.raises(NotFoundError, match="there is no server `lab` in namespace") as raised:
        servers.get("lab")
    assert "-A" in raised.value.fix
    assert servers.find("lab") is None
    api.refusals["GET", SERVERS] = (404, "the server could not find the requested resource")
    for act in (servers.get, servers.find):
        with pytest.raises(NotFoundError, match="may not be installed"):
            act("lab")


def test_a_thousand_are_listed_by_pages(api: FakeApi, servers: Servers) -> None:
    for number in range(1000):
        api.add(SERVERS, server(f"lab{number}"))
    assert len(list(servers.list())) == 1000
    assert api.requests.count(f"GET {SERVERS}") == 2
    other = server("other")
    other["metadata"] |= {"namespace": "dev-bob", "labels": {"team": "vision"}}
    api.add(SERVERS, other)
    assert len(list(servers.list())) == 1000
    assert [found.name for found in servers.list(EVERYWHERE, {"team": "vision"})] == ["other"]


def test_changes_are_seen(api: FakeApi, servers: Servers) -> None:
    api.add(SERVERS, server("lab", "Pending"))
    api.then = [
        lambda: api.things[KEY]["status"].update(phase="Running"),
        lambda: api.drop(SERVERS, "lab"),
    ]
    seen = [(change.type, Server(change.object).phase) for change in islice(servers.watch(), 3)]
    assert seen == [("ADDED", "Pending"), ("MODIFIED", "Running"), ("DELETED", "Running")]


def test_stop_and_start(api: FakeApi, servers: Servers) -> None:
    api.add(SERVERS, server())
    assert servers.stop("lab").stopped
    assert servers.stop("lab").stopped
    assert not servers.start("lab").stopped
    assert api.things[KEY]["spec"]["image"] == "torch:1"


def test_another_one_of_the_name_is_not_changed(api: FakeApi, servers: Servers) -> None:
    api.add(SERVERS, server())
    seen = servers.get("lab")
    api.things[KEY]["metadata"]["uid"] = "other"
    with pytest.raises(DevctlError, match="UID"):
        servers.stop(seen)
    with pytest.raises(DevctlError, match="recreated"):
        servers.delete(seen)
    assert not api.things[KEY]["spec"]["stopped"]


def test_it_stays_for_so_long_from_now(api: FakeApi, servers: Servers) -> None:
    made = datetime.now(UTC) - timedelta(hours=5)
    there = server(spec={"lifecycle": {"timeToLive": "6h", "idleTimeout": "1h"}})
    there["metadata"]["creationTimestamp"] = made.isoformat()
    there["status"]["expiresAt"] = (made + timedelta(hours=6)).isoformat()
    api.add(SERVERS, there)
    found = servers.extend("lab", ttl="8h", idle="90m").lifecycle
    assert found["timeToLive"] == pytest.approx(13 * 3600, abs=30)
    assert (found["idleTimeout"], found["autoShutdown"]) == ("90m", True)


def test_a_run_and_a_stop_get_so_long_from_now(api: FakeApi, servers: Servers) -> None:
    begun = (datetime.now(UTC) - timedelta(hours=5)).isoformat()
    api.add(SERVERS, server(startedAt=begun))
    found = servers.extend("lab", max_runtime="8h", delete_after_stopped="14d").lifecycle
    assert found["maxRuntime"] == pytest.approx(13 * 3600, abs=30)
    assert found["deleteAfterStopped"] == "14d", "it runs"
    api.things[KEY] |= {"status": {"stoppedAt": begun}}
    found = servers.extend("lab", max_runtime="9h", delete_after_stopped="1d").lifecycle
    assert found["maxRuntime"] == "9h", "it does not run"
    assert found["deleteAfterStopped"] == pytest.approx(29 * 3600, abs=30)


@pytest.mark.parametrize(
    ("field", "option"), [("runEndsAt", "max_runtime"), ("expiresAt", "delete_after_stopped")]
)
def test_no_extension_takes_time_away(
    api: FakeApi, servers: Servers, field: str, option: str
) -> None:
    now = datetime.now(UTC)
    began, soon = (now - timedelta(hours=5)).isoformat(), (now + timedelta(hours=1)).isoformat()
    there = server(startedAt=began, stoppedAt=began)
    there["status"][field] = soon
    there["spec"]["stopped"] = field == "expiresAt"
    api.add(SERVERS, there)
    with pytest.raises(UsageError, match="already kept until"):
        servers.extend("lab", **{option: "30m"})


@pytest.mark.parametrize("milliseconds", [0, 1, 300, 700, 999])
def test_it_stays_no_shorter_than_asked(
    milliseconds: int, api: FakeApi, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.add(SERVERS, server())
    now = servers.get("lab").created_at + timedelta(hours=5, milliseconds=milliseconds)
    monkeypatch.setattr("devctl.client.servers.datetime", Mock(now=Mock(return_value=now)))
    found = servers.extend("lab", ttl="8h").lifecycle
    assert found["timeToLive"] == 13 * 3600 + bool(milliseconds)


@pytest.mark.parametrize(
    ("ttl", "idle", "said"),
    [
        (None, None, "nothing to extend"),
        ("30m", None, "already kept until"),
        ("366d", None, "for a year at most"),
        ("soon", None, "is not a duration"),
        (None, "soon", "is not a duration"),
    ],
)
def test_what_is_no_longer_time_changes_nothing(
    api: FakeApi, servers: Servers, ttl: str | None, idle: str | None, said: str
) -> None:
    soon = datetime.now(UTC) + timedelta(hours=1)
    api.add(SERVERS, server(expiresAt=soon.isoformat()))
    with pytest.raises(UsageError, match=said) as raised:
        servers.extend("lab", ttl=ttl, idle=idle)
    assert raised.value.fix
    assert "lifecycle" not in api.things[KEY]["spec"]


def test_one_that_is_deleted_is_gone_with_its_pods(api: FakeApi, servers: Servers) -> None:
    api.add(SERVERS, server())
    api.add(PODS, pod("lab-0"))
    gone = servers.delete("lab")
    seen: list[str] = []
    with pytest.raises(WaitTimeoutError, match="1 of its pods still exist") as raised:
        servers.wait_gone("lab", gone.uid, 0.05, seen.append)
    assert "files are kept" in raised.value.fix
    assert seen[0] == "1 of its pods still exist"
    api.drop(PODS, "lab-0")
    servers.wait_gone("lab", gone.uid, 1)
    api.add(SERVERS, server())
    with pytest.raises(AlreadyExistsError, match="recreated"):
        servers.wait_gone("lab", gone.uid, None)


def test_examples() -> None:
    assert doctest.testmod(objects).failed == 0


def test_what_the_spec_says() -> None:
    found = Server(server("lab", replicas=3, spec={"lifecycle": {"timeToLive": "8h"}}))
    assert (found.name, found.namespace, found.owner) == ("lab", "dev-alice", "alice@company.com")
    assert (found.flavor, found.image, found.mode) == ("cpu-small", "torch:1", "distributed")
    assert (found.size, found.processes, found.ssh, found.stopped) == (3, 1, True, False)
    assert found.pods() == ["lab-0", "lab-1", "lab-2"]
    assert found.homes == ["home-lab-0", "home-lab-1", "home-lab-2"]
    assert found.lifecycle == {"timeToLive": "8h"}
    assert found.created_at == NOW - timedelta(hours=2)


def test_what_the_status_says() -> None:
    found = Server(server("lab", replicas=2, startedAt=ago(hours=1), expiresAt=ago(hours=-3)))
    assert found.phase is Phase.RUNNING
    assert found.ready
    assert found.seen
    assert found.ready_replicas == 2
    assert found.started_at == NOW - timedelta(hours=1)
    assert found.expires_at == NOW + timedelta(hours=3)
    assert [(r.ordinal, r.pod, r.node, r.phase) for r in found.replicas] == [
        (0, "lab-0", "node-0", Phase.RUNNING),
        (1, "lab-1", "node-1", Phase.RUNNING),
    ]


def test_one_that_nobody_has_looked_at() -> None:
    found = Server(server("lab", ""))
    assert (found.phase, found.reason, found.message) == (Phase.PENDING, "", "")
    assert not found.ready
    assert not found.seen
    assert not found.going
    assert (found.replicas, found.ready_replicas) == ([], 0)
    assert (found.started_at, found.expires_at) == (None, None)


def test_what_its_role_could_not_do_is_said_until_the_observer_looks() -> None:
    failed = {"type": "Applied", "status": "False", "reason": "Conflict", "message": "not yours"}
    found = Server(server("lab", "", spec={}) | {"status": {"conditions": [failed]}})
    assert (found.reason, found.message) == ("Conflict", "not yours")
    raw = server("lab", "Pending", reason="Unschedulable", message="no node")
    raw["status"]["conditions"].append(failed)
    assert Server(raw).reason == "Unschedulable"


def test_a_status_of_before_a_change_is_told_apart() -> None:
    raw = server()
    raw["metadata"]["generation"] = 2
    assert not Server(raw).seen


def test_what_a_dry_run_answers_was_made_now() -> None:
    raw = server()
    del raw["metadata"]["creationTimestamp"]
    assert datetime.now(UTC) - Server(raw).created_at < timedelta(minutes=1)
