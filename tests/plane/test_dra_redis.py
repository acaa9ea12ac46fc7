"""Reservations in a real Redis, with the image's configuration; no control plane is used."""

from __future__ import annotations

import json
import signal
import time
from typing import TYPE_CHECKING

import pytest
import redis
from devctl_dra_plugin.agreement import Held
from devctl_dra_plugin.devices import made_up
from devctl_dra_plugin.entries import released
from devctl_dra_plugin.host_tool import HostTool
from devctl_dra_plugin.planning import ClaimError, Given, Preparation
from devctl_dra_plugin.redis_server import LOCK, BusyError, Redis, RedisError
from devctl_dra_plugin.reservations import Change
from support.redis_process import RedisProcess
from support.servers import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from devctl_dra_plugin.reservations import Found

DEVICES = made_up("node-1", 4)


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisProcess]:
    found = RedisProcess(tmp_path_factory.mktemp("redis"))
    found.start()
    yield found
    found.stop()


@pytest.fixture
def server(process: RedisProcess) -> Redis:
    keys = process.answer("KEYS", "*").split()
    if keys:
        process.answer("DEL", *keys)
    return Redis(f"unix://{process.socket}", process.password)


def claim(number: int, *gpus: int) -> Preparation:
    given = tuple(Given("main", each, f"u{each}", None) for each in gpus)
    return Preparation(f"uid-{number}", "team-a", f"train-{number}", given)


def held(*claims: Preparation) -> Held:
    return Held(claims, is_all=True)


def refuses(tool: HostTool, wanted: Preparation, why: str) -> None:
    with pytest.raises(ClaimError, match=why), tool.reserving(wanted):
        pytest.fail("it was not refused")


def key(process: RedisProcess, index: int) -> dict[str, object]:
    found: dict[str, object] = json.loads(process.answer("GET", f"canhazgpu:gpu:{index}") or "{}")
    return found


def reserve(process: RedisProcess, index: int, user: str) -> None:
    """As the tool does it for `canhazgpu reserve`."""
    state = {"user": user, "actual_user": user, "start_time": time.time(), "type": "manual"}
    process.answer("SET", f"canhazgpu:gpu:{index}", json.dumps(state))


def test_a_claims_gpus_are_reserved_and_given_back(process: RedisProcess, server: Redis) -> None:
    tool = HostTool(server)
    with tool.reserving(claim(1, 0, 2)):
        pass
    assert [key(process, index).get("user") for index in range(4)] == [
        "team-a/train-1",
        None,
        "team-a/train-1",
        None,
    ]
    reserve(process, 1, "alice")
    refuses(tool, claim(2, 1, 3), "GPU 1 is reserved on the host by alice")
    assert key(process, 3) == {}
    assert tool.look(DEVICES, lambda: held(claim(1, 0, 2))).users == {1: "alice"}
    tool.give_back(claim(1, 0, 2))
    assert set(key(process, 0)) == {"last_released"}
    history = process.answer("ZRANGE", "canhazgpu:usage_history_sorted", "0", "-1").splitlines()
    assert [json.loads(each)["gpu_id"] for each in history] == [0, 2]
    assert 0 < int(process.answer("TTL", "canhazgpu:usage_history_sorted")) <= 90 * 24 * 3600
    assert process.answer("MGET", "canhazgpu:gpu_count", "canhazgpu:provider") == "4\nfake"


def test_an_administrators_pool_stays(process: RedisProcess, server: Redis) -> None:
    process.answer("MSET", "canhazgpu:gpu_count", "2", "canhazgpu:provider", "nvidia")
    HostTool(server).look(DEVICES, held)
    assert process.answer("MGET", "canhazgpu:gpu_count", "canhazgpu:provider") == "2\nnvidia"


@pytest.mark.parametrize("what", [LOCK, "canhazgpu:gpu:0"])
def test_what_changes_in_between_is_decided_again(
    process: RedisProcess, server: Redis, what: str
) -> None:
    """The tool reserves between our look and our write, with its lock or without."""
    seen = list[bool]()

    def decide(found: Found) -> Change:
        seen.append(0 in found)
        if len(seen) == 1:
            reserve(process, 0, "alice")
            if what == LOCK:
                process.answer("SET", LOCK, "locked", "PX", "100000")
        return Change({0: released(1)} if not found else {})

    if what == LOCK:
        with pytest.raises(BusyError):
            server.change([0], 1, decide)
    else:
        server.change([0], 1, decide)
        assert seen == [False, True]
    assert key(process, 0)["user"] == "alice"


def test_it_gives_up_on_keys_that_always_change(process: RedisProcess, server: Redis) -> None:
    def decide(found: Found) -> Change:
        reserve(process, 0, f"user-{len(found)}")
        return Change({0: released(1)})

    with pytest.raises(BusyError, match="change all the time"):
        server.change([0], 1, decide)


def test_a_restart_keeps_reservations_and_is_noticed_by_nobody(
    process: RedisProcess, server: Redis
) -> None:
    tool = HostTool(server)
    with tool.reserving(claim(1, 0)):
        pass
    reserved = process.answer("GET", "canhazgpu:gpu:0")
    wait_until(lambda: process.has_written(reserved), "it is in its files")
    process.stop(signal.SIGKILL)
    refuses(tool, claim(2, 1), "whether the host has reserved its GPUs is unknown")
    tool.give_back(claim(1, 0))
    process.start()
    assert key(process, 0)["user"] == "team-a/train-1"
    assert not tool.look(DEVICES, held).problem
    assert set(key(process, 0)) == {"last_released"}, "what was given back meanwhile is free"
    with tool.reserving(claim(2, 1)):
        pass


def test_a_password_is_needed_and_may_change(process: RedisProcess, server: Redis) -> None:
    right = process.password.read_text()
    wrong = Redis(f"unix://{process.socket}", process.password)
    process.password.write_text("wrong")
    try:
        with pytest.raises(RedisError, match="AuthenticationError"):
            wrong.change([0], 1, lambda _: Change({}))
    finally:
        process.password.write_text(right)
    wrong.change([0], 1, lambda _: Change({}))
    server.set_up(1, "fake")


@pytest.mark.parametrize(
    "command",
    [
        ["SET", "other", "1"],
        ["FLUSHALL"],
        ["CONFIG", "SET", "dir", "/"],
        ["ACL", "LIST"],
        ["SHUTDOWN"],
        ["MODULE", "LIST"],
        ["EVAL", "return redis.call('SET', 'other', 1)", "0"],
    ],
)
def test_who_has_no_password_can_do_what_the_tool_does_and_no_more(
    process: RedisProcess, command: list[str]
) -> None:
    assert "NOPERM" in process.answer(*command) or "can't access" in process.answer(*command)


def test_the_plugins_account_can_do_less(process: RedisProcess) -> None:
    own = redis.Redis(
        unix_socket_path=str(process.socket),
        username="canhazgpu-kubeletplugin",
        password=process.password.read_text().rstrip("\n"),
        protocol=2,
        driver_info=None,
    )
    for command in (["KEYS", "*"], ["EVAL", "return 1", "0"], ["SET", "other", "1"]):
        with pytest.raises(redis.exceptions.NoPermissionError):
            own.execute_command(*command)  # type: ignore[no-untyped-call]


def test_an_empty_password_starts_no_redis(tmp_path: Path) -> None:
    found = RedisProcess(tmp_path)
    found.password.write_text("\n")
    assert found.start_script().wait(30) == 1
