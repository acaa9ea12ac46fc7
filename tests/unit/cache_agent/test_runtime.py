"""The container runtime's messages, and what the agent asks with them."""

from __future__ import annotations

import sys
from contextlib import suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from devctl_cache_agent import leases, messages, runtime
from devctl_cache_agent.durations import FILE, Durations
from devctl_cache_agent.images import Images
from devctl_cache_agent.in_use import InUse
from devctl_cache_agent.problems import CacheError, DroppedError, NoRoomError
from devctl_cache_agent.runtime import Runtime, RuntimeRefusedError
from hypothesis import given
from hypothesis import strategies as st

from devctl.agents import wire
from unit.cache_agent.items import image

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from devctl_cache_agent.status import Entry

CACHE = "/var/lib/canhazgpu/cache"
AGENT = ("canhazgpu-system", "cache-agent")


def label(key: str, value: str) -> bytes:
    return wire.nested(8, wire.text(1, key) + wire.text(2, value))


def container(name: str, who: tuple[str, str] = ("team", "main")) -> bytes:
    labels = label("io.kubernetes.pod.namespace", who[0])
    labels += label("io.kubernetes.container.name", who[1])
    return wire.nested(1, wire.text(1, name) + wire.text(2, "sandbox") + labels)


def mounts(*paths: str) -> bytes:
    each = [wire.nested(14, wire.text(1, "/in") + wire.text(2, path)) for path in paths]
    return wire.nested(1, wire.text(1, "id") + b"".join(each) + wire.text(15, "/var/log/x"))


class Node:
    """A runtime that has images and containers."""

    def __init__(self) -> None:
        self.images: dict[str, int] = {}
        self.containers: dict[str, tuple[tuple[str, str], list[str]]] = {}
        self.gone: set[str] = set()
        self.pulls: list[str] = []
        self.leases: set[str] = set()
        self.has_leases = True
        self.kept: list[bool] = []
        self.problem: RuntimeRefusedError | None = None

    def __call__(
        self,
        method: str,
        request: bytes,
        seconds: float,
        look: Callable[[], None],
        header: tuple[tuple[str, str], ...],
    ) -> bytes:
        assert seconds > 0
        if method in {leases.CREATE, leases.DELETE}:
            return self.lease(method, request, header)
        if method == messages.PULL:
            self.kept.append(any(leases.header(each) == header for each in self.leases))
        if self.problem:
            raise self.problem
        match method:
            case messages.PULL:
                look()
                ref = reference(request)
                self.pulls.append(ref)
                self.images[ref] = 1500
                return wire.text(1, "sha256:1")
            case messages.IMAGE:
                length = self.images.get(reference(request))
                if length is None:
                    return b""
                return wire.nested(1, wire.text(1, "sha256:1") + wire.number(4, length))
            case messages.LIST:
                return b"".join(container(name, who) for name, (who, _) in self.containers.items())
        name = wire.texts(request)[1]
        if name in self.gone:
            raise RuntimeRefusedError("the runtime: not found", runtime.GONE)
        return mounts(*self.containers[name][1])

    def lease(self, method: str, request: bytes, header: tuple[tuple[str, str], ...]) -> bytes:
        """As containerd has them; other runtimes know no such method."""
        if not self.has_leases:
            raise RuntimeRefusedError("the runtime: unknown service", "UNIMPLEMENTED")
        assert header == leases.NAMESPACE
        name = wire.texts(request)[1]
        if method == leases.DELETE:
            self.leases.remove(name)
        elif name in self.leases:
            raise RuntimeRefusedError("the runtime: already exists", leases.EXISTS)
        else:
            self.leases.add(name)
        return b""


def reference(request: bytes) -> str:
    ((_, spec),) = wire.fields(request)
    assert isinstance(spec, bytes)
    return wire.texts(spec)[1]


@pytest.fixture
def node() -> Node:
    return Node()


def test_an_image_is_pulled_once(node: Node, durations: Durations) -> None:
    told: list[Entry] = []
    kept = Images(Runtime(node), lambda: 1, durations)
    assert not kept.is_present(image())
    entry = kept.keep(image(), told.append)
    assert (entry.status, entry.length) == ("ready", 1500)
    assert node.pulls == [image().source]
    assert "pulling" in told[-1].message
    assert kept.is_present(image())
    kept.keep(image(), told.append)
    assert len(node.pulls) == 1


def test_a_pull_is_measured_and_what_was_there_is_not(node: Node, tmp_path: Path) -> None:
    ticks = iter([10.0, 17.0])
    kept = Images(Runtime(node), lambda: 1, Durations(tmp_path / FILE, lambda: next(ticks)))
    node.images.update({"there:1": 7})
    assert kept.keep(image(ref="there:1"), lambda _entry: None).seconds is None
    assert kept.keep(image(), lambda _entry: None).seconds == 7
    again = Images(Runtime(node), lambda: 1, Durations(tmp_path / FILE))
    assert again.keep(image(), lambda _entry: None).seconds == 7


def test_nothing_is_pulled_onto_a_full_disk(node: Node, durations: Durations) -> None:
    with pytest.raises(NoRoomError, match=r"disk is full: 2\.0 KiB less"):
        Images(Runtime(node), lambda: -2048, durations).keep(image(), lambda _entry: None)
    assert node.pulls == []


def test_a_pull_ends_when_the_disk_fills_or_the_plan_drops_it(
    node: Node, durations: Durations
) -> None:
    spare = iter([1, -1])
    with pytest.raises(NoRoomError):
        Images(Runtime(node), lambda: next(spare), durations).keep(image(), lambda _entry: None)

    def dropped(_entry: Entry) -> None:
        raise DroppedError("no")

    with pytest.raises(DroppedError):
        Images(Runtime(node), lambda: 1, durations).keep(image(), dropped)
    assert node.pulls == []


def test_a_pull_that_fails_keeps_what_it_has_fetched_for_the_next_try(node: Node) -> None:
    asked = Runtime(node)
    node.problem = RuntimeRefusedError("the runtime: unexpected EOF", "UNKNOWN")
    for _ in range(2):
        with pytest.raises(RuntimeRefusedError, match="unexpected EOF"):
            asked.pull("a/b:1", lambda: None)
        assert node.leases == {leases.name("a/b:1")}
    node.problem = None
    asked.pull("a/b:1", lambda: None)
    assert node.kept == [True, True, True]
    assert node.leases == set(), "the image itself keeps its data now"


def test_what_a_pull_has_fetched_is_not_kept_on_a_full_disk(node: Node) -> None:
    def full() -> None:
        raise NoRoomError("full")

    with pytest.raises(NoRoomError):
        Runtime(node).pull("a/b:1", full)
    assert node.leases == set()


def test_a_runtime_without_leases_pulls_as_well(node: Node) -> None:
    node.has_leases = False
    Runtime(node).pull("a/b:1", lambda: None)
    assert (node.pulls, node.kept) == (["a/b:1"], [False])


def test_an_image_that_is_not_there_after_its_pull_has_failed(
    node: Node, durations: Durations
) -> None:
    def forgetful(*asked: Any) -> bytes:
        answer = node(*asked)
        node.images.clear()
        return answer

    with pytest.raises(CacheError, match="does not have it"):
        Images(Runtime(forgetful), lambda: 1, durations).keep(image(), lambda _entry: None)


def in_use(node: Node, table: Path, errors: list[str]) -> set[str] | None:
    return InUse(
        Runtime(node),
        cache=CACHE,
        pods="/var/lib/kubelet/pods",
        mountinfo=table,
        cdi=table.parent,
        tell=lambda found: errors.__setitem__(slice(None), found),
    )()


def test_containers_and_volumes_use_paths_and_the_agent_itself_does_not(
    node: Node, tmp_path: Path
) -> None:
    node.containers = {
        "a": (("team", "main"), [f"{CACHE}/git/a", "/etc/hosts"]),
        "b": (AGENT, [CACHE]),
        "c": (("team", "cache-agent"), [f"{CACHE}/models/m"]),
        "d": (("team", "main"), ["/x"]),
    }
    node.gone = {"d"}
    table = tmp_path / "mountinfo"
    table.write_text(
        f"1 0 8:1 {CACHE} {CACHE} rw - ext4 a rw\n"
        f"2 0 8:1 {CACHE}/git/b /var/lib/kubelet/pods/u/volumes/v rw - ext4 a rw\n"
    )
    errors = ["before"]
    assert in_use(node, table, errors) == {"git/a", "git/b", "models/m"}
    assert errors == []
    node.containers["e"] = (("other", "cache-agent"), [CACHE])
    assert "" in (in_use(node, table, errors) or ())


def test_use_is_unknown_if_the_runtime_or_the_kernel_does_not_say(
    node: Node, tmp_path: Path
) -> None:
    errors: list[str] = []
    assert in_use(node, tmp_path / "none", errors) is None
    assert "what pods use is unknown" in errors[0]
    node.problem = RuntimeRefusedError("the runtime: away", "UNAVAILABLE")
    assert in_use(node, tmp_path / "none", errors) is None
    assert "away" in errors[0]


def test_a_container_whose_mounts_are_unknown_makes_all_unknown(node: Node) -> None:
    node.containers = {"a": (("team", "main"), [])}

    def failing(method: str, *rest: Any) -> bytes:
        if method == messages.CONTAINER:
            raise RuntimeRefusedError("the runtime: no", "INTERNAL")
        return node(method, *rest)

    with pytest.raises(RuntimeRefusedError):
        Runtime(failing).host_paths()


@given(st.binary())
def test_garbage_is_refused_or_adds_to_the_message_before_it(data: bytes) -> None:
    reads: list[tuple[Callable[[bytes], list[Any]], bytes]] = [
        (messages.containers, container("a")),
        (messages.host_paths, mounts("/var/lib/x")),
    ]
    for read, before in reads:
        assert len(read(before)) == 1
        try:
            found = read(data)
        except wire.WireError:
            with pytest.raises(wire.WireError):
                read(before + data)
            continue
        assert read(before + data) == read(before) + found


@given(st.binary())
def test_garbage_is_refused_or_no_image(data: bytes) -> None:
    for read in (messages.image, messages.pulled):
        with suppress(wire.WireError):
            found: Any = read(data)
            if found:
                assert isinstance(found, str) or (found.id and found.length >= 0)


def test_an_answer_that_is_no_message_is_a_failure() -> None:
    with pytest.raises(CacheError, match="not valid"):
        Runtime(lambda *_: b"\xff").image("a")
    with pytest.raises(CacheError, match="not valid"):
        Runtime(lambda *_: b"\xff").host_paths()


class Grpc:
    """What the agent makes of the library, which only the image has."""

    class RpcError(Exception):
        def details(self) -> str:
            return "no such image"

        def code(self) -> Any:
            return SimpleNamespace(name="NOT_FOUND")

    class FutureTimeoutError(Exception):
        pass

    def __init__(self, *results: Any) -> None:
        self.results = list(results)
        self.target, self.cancelled = "", 0
        self.headers: list[Any] = []

    def insecure_channel(self, target: str, options: Any) -> Any:  # noqa: ARG002
        self.target = target
        return self

    def unary_unary(self, _method: str) -> Any:
        return self

    def future(self, _request: bytes, timeout: float, metadata: Any) -> Any:  # noqa: ARG002
        self.headers.append(metadata)
        return self

    def result(self, timeout: float) -> bytes:  # noqa: ARG002
        found = self.results.pop(0)
        if isinstance(found, Exception):
            raise found
        data: bytes = found
        return data

    def cancel(self) -> None:
        self.cancelled += 1


def test_a_call_is_watched_and_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    grpc = Grpc(Grpc.FutureTimeoutError(), b"x", Grpc.FutureTimeoutError(), Grpc.RpcError())
    monkeypatch.setitem(sys.modules, "grpc", grpc)
    call = runtime.over("/run/x.sock")
    looks: list[int] = []
    assert call("/m", b"", 1.0, lambda: looks.append(1), (("a", "b"),)) == b"x"
    assert (grpc.target, looks) == ("unix:///run/x.sock", [1])
    assert grpc.headers == [(("a", "b"),)]

    def dropped() -> None:
        raise DroppedError("no")

    with pytest.raises(DroppedError):
        call("/m", b"", 1.0, dropped, ())
    assert grpc.cancelled == 2
    with pytest.raises(RuntimeRefusedError, match="no such image") as raised:
        call("/m", b"", 1.0, lambda: None, ())
    assert raised.value.code == runtime.GONE
