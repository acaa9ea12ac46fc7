"""The agreement with the host's tool: crashes, waiting, and a Redis that is away."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from devctl_dra_plugin import checkpoint, entries, files, reservations, slices
from devctl_dra_plugin.claims import Claims
from devctl_dra_plugin.devices import made_up
from devctl_dra_plugin.host_tool import HostTool
from devctl_dra_plugin.redis_server import BusyError, Redis, RedisError
from hypothesis import given
from hypothesis import strategies as st

from unit.dra_plugin.cluster import NODE, Memory, ref

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from devctl_dra_plugin.reservations import Change, Found, View

DEVICES = made_up(NODE, 2)
ALICE = '{"user": "alice", "actual_user": "alice", "type": "manual"}'


@dataclass
class Keys(Redis):
    """What is in Redis; tests/plane/test_dra_redis.py has a real one."""

    texts: dict[int, str] = field(default_factory=dict)
    pool: list[tuple[int, str]] = field(default_factory=list)
    error: RedisError | None = None
    locked: int = 0

    def set_up(self, count: int, provider: str) -> None:
        if self.error:
            raise self.error
        self.pool = [(count, provider)]

    def change(
        self,
        indexes: Iterable[int],
        now: float,  # noqa: ARG002
        decide: Callable[[Found], Change],
    ) -> Change:
        if self.error:
            raise self.error
        if self.locked:
            self.locked -= 1
            raise BusyError("Redis: the host's tool is reserving GPUs")
        read = [entries.parse(each, self.texts.get(each)) for each in indexes]
        change = decide({each.index: each for each in read if each is not None})
        self.texts |= change.states
        return change

    def users(self) -> dict[int, str]:
        found = {index: json.loads(text).get("user", "") for index, text in self.texts.items()}
        return {index: user for index, user in found.items() if user}


class Node:
    """A node whose GPUs the host's tool also hands out."""

    def __init__(self, root: Path) -> None:
        self.api, self.keys, self.now, self.root = Memory(), Keys(), 1000.0, root
        self.slept = list[float]()
        (root / "cdi").mkdir()
        self.start()

    def start(self) -> None:
        self.tool = HostTool(self.keys, lambda: self.now, self.slept.append)
        state, folder = self.root / "checkpoint.json", self.root / "cdi"
        self.claims = Claims(NODE, self.api, state, folder, self.tool)
        self.claims.know(DEVICES)
        self.claims.is_complete = True

    def prepare(self, number: int, *gpus: int) -> str:
        self.api.allocate(ref(number), *gpus)
        return self.claims.prepare([ref(number)])[ref(number).uid].error

    def look(self) -> View:
        return self.tool.look(DEVICES, self.claims.held)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


AWAY = RedisError("Redis: ConnectionError: refused")


def test_what_is_allocated_here_is_taken_there_until_it_is_given_back(node: Node) -> None:
    assert not node.prepare(1, 1)
    assert node.keys.users() == {1: "team-a/claim-1"}
    node.claims.unprepare([ref(1)])
    assert node.keys.users() == {}


def test_what_was_taken_there_in_between_waits_with_the_reason(node: Node) -> None:
    node.keys.texts[1] = ALICE
    assert node.prepare(1, 0, 1) == "GPU 1 is reserved on the host by alice"
    assert node.keys.users() == {1: "alice"}
    assert not node.claims.held().claims
    del node.keys.texts[1]
    assert not node.prepare(1, 0, 1), "the kubelet asks again"


def test_between_claims_the_plugins_record_decides_before_others_are_asked(node: Node) -> None:
    node.prepare(1, 0)
    assert "still holds GPU 0" in node.prepare(2, 0)
    assert node.keys.users() == {0: "team-a/claim-1"}


def test_a_crash_before_the_record_leaves_nothing_for_long(node: Node) -> None:
    node.prepare(1, 0)
    (claim,) = node.claims.held().claims
    planned = reservations.taken(claim, {}, node.now)
    node.claims.unprepare([ref(1)])
    node.keys.texts |= planned.states
    node.start()
    node.look()
    assert node.keys.users() == {}


def test_a_reservation_outlives_the_plugins_restart_and_is_kept_alive(node: Node) -> None:
    node.prepare(1, 0)
    node.start()
    node.now += 100
    node.look()
    assert json.loads(node.keys.texts[0])["last_heartbeat"] == 1100
    assert json.loads(node.keys.texts[0])["start_time"] == 1000


def test_the_tools_lock_is_waited_for(node: Node) -> None:
    node.keys.locked = 2
    assert not node.prepare(1, 0)
    assert len(node.slept) == 2
    node.keys.locked = 100
    error = "whether the host has reserved its GPUs is unknown: Redis: the host's tool is reserving"
    assert node.prepare(2, 1).startswith(error)
    node.keys.locked = 1
    assert not node.look().users


def test_while_redis_is_away_allocated_pods_go_on_and_new_claims_wait(
    node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    node.keys.texts[1] = ALICE
    node.prepare(1, 0)
    assert node.look().users == {1: "alice"}
    node.keys.error = AWAY
    assert not node.prepare(1, 0), "it is prepared already"
    said = "whether the host has reserved its GPUs is unknown: Redis: ConnectionError: refused"
    assert node.prepare(2, 1) == said
    assert not node.look().problem, "it may only be starting again"
    view = node.look()
    assert (view.users, view.problem) == ({1: "alice"}, "Redis: ConnectionError: refused")
    assert node.claims.unprepare([ref(1)]) == {"uid-1": ""}, "a pod can end"
    assert node.keys.users() == {0: "team-a/claim-1", 1: "alice"}
    node.keys.error = None
    assert not node.look().problem
    assert node.keys.users() == {1: "alice"}, "it is released now"
    assert sum("Redis" in each.message for each in caplog.records) == 3


def test_before_redis_has_answered_nothing_is_offered(node: Node) -> None:
    node.keys.error = AWAY
    view = node.look()
    assert view.problem
    offered = slices.spec(NODE, DEVICES, view)["devices"]
    taint = {"key": "canhazgpu.com/reservations-unknown", "effect": "NoSchedule"}
    assert [each["taints"] for each in offered] == [[taint], [taint]]


def test_two_users_of_one_gpu_are_shown(node: Node, caplog: pytest.LogCaptureFixture) -> None:
    node.prepare(1, 0)
    node.keys.texts[0] = ALICE
    assert node.look().users == {0: "alice"}
    node.look()
    said = "GPU 0 is reserved on the host by alice while a claim holds it: two may use it"
    assert [each.message for each in caplog.records if each.levelname == "ERROR"] == [said]
    node.claims.unprepare([ref(1)])
    assert node.keys.users() == {0: "alice"}


def test_the_tool_is_told_how_many_gpus_there_are(node: Node) -> None:
    node.look()
    assert node.keys.pool == [(2, "fake")]


@pytest.mark.parametrize("where", ["", "redis", "redis:", ":1", "redis:x"])
def test_an_address_that_is_none_is_refused(where: str) -> None:
    with pytest.raises(ValueError, match="is neither HOST:PORT nor a socket's unix://PATH"):
        Redis(where)


class KilledError(BaseException):
    """The process is gone."""


class Fate:
    """What is written to the record, to CDI files and to Redis, until the plugin is killed."""

    def __init__(self, patch: pytest.MonkeyPatch, keys: Keys) -> None:
        self.left = -1
        patch.setattr(checkpoint, "write_whole", self.through(files.write_whole))
        patch.setattr(files, "write_whole", self.through(files.write_whole))
        patch.setattr(files, "remove", self.through(files.remove))
        patch.setattr(keys, "change", self.through(keys.change))

    def through(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def write(*args: object) -> Any:
            self.left -= 1
            if self.left == -1:
                raise KilledError
            return function(*args)

        return write


class World:
    """A node on which the plugin is killed now and then, and a person who uses the tool."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch) -> None:
        self.node = Node(root)
        self.fate = Fate(patch, self.node.keys)
        self.pods: dict[int, int] = {}
        """The GPU of each claim whose pod runs."""
        self.allocated: dict[int, int] = {}
        """The GPU of each claim, which stays the same until it is unprepared."""
        self.alice: set[int] = set()

    def do(self, action: str, number: int, gpu: int) -> None:
        getattr(self, action)(number, gpu)

    def prepare(self, number: int, gpu: int) -> None:
        if number not in self.pods:
            which = self.allocated.setdefault(number, gpu)
            if self._asked(lambda: self.node.prepare(number, which)) == "":
                self.pods[number] = which

    def unprepare(self, number: int, _gpu: int) -> None:
        self.pods.pop(number, None)
        while self._asked(lambda: self.node.claims.unprepare([ref(number)])) is None:
            pass
        self.allocated.pop(number, None)

    def reserve(self, _number: int, gpu: int) -> None:
        if gpu not in self.node.keys.users():
            self.node.keys.texts[gpu] = ALICE
            self.alice.add(gpu)

    def release(self, _number: int, gpu: int) -> None:
        if gpu in self.alice:
            self.node.keys.texts[gpu] = entries.released(self.node.now)
            self.alice.remove(gpu)

    def look(self, *_: int) -> None:
        while self._asked(self.node.look) is None:
            pass

    def start_afresh(self, *_: int) -> None:
        """An administrator does; nobody uses the tool before the plugin's next look."""
        if self.node.keys.error is None:
            self.node.keys.texts.clear()
            self.alice.clear()
            self.look()

    def away(self, *_: int) -> None:
        self.node.keys.error = AWAY

    def back(self, *_: int) -> None:
        self.node.keys.error = None

    def _asked(self, action: Callable[[], Any]) -> Any:
        """The answer; None if the plugin died over it, and was started again."""
        try:
            return action()
        except KilledError:
            self.node.start()
            return None

    def check(self) -> None:
        users = self.node.keys.users()
        assert len(set(self.pods.values())) == len(self.pods)
        for number, gpu in self.pods.items():
            assert users[gpu] == f"team-a/claim-{number}"
        for gpu in self.alice:
            assert users[gpu] == "alice"


ACTIONS = ["prepare", "unprepare", "reserve", "release", "look", "start_afresh", "away", "back"]
STEP = st.tuples(
    st.sampled_from([*ACTIONS[:2], *ACTIONS]),
    st.integers(1, 2),
    st.integers(0, 1),
    st.integers(-1, 4),
)


@given(steps=st.lists(STEP, min_size=5, max_size=25))
def test_no_gpu_is_handed_out_twice_whoever_dies(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int, int]]
) -> None:
    """The tool takes free GPUs, claims come and go, Redis goes away, and the plugin dies."""
    with pytest.MonkeyPatch.context() as patch:
        world = World(tmp_path_factory.mktemp("node"), patch)
        for action, number, gpu, world.fate.left in steps:
            world.do(action, number, gpu)
            world.check()
        world.fate.left, world.node.keys.error = -1, None
        for number in {1, 2} - set(world.pods):
            world.unprepare(number, 0)
        world.look()
        world.check()
        left = set(world.node.keys.users()) - world.alice
        assert left == set(world.pods.values()), "nothing leaks"
