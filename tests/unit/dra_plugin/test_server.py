"""The methods that the kubelet calls, without gRPC, which only the image has."""

from __future__ import annotations

import importlib
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from devctl_dra_plugin import messages
from devctl_dra_plugin.claims import Claims
from devctl_dra_plugin.devices import made_up
from devctl_dra_plugin.health import Board, reports

from devctl.agents import wire
from unit.dra_plugin.cluster import NODE, Memory, ref

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Method = Any


class Grpc:
    """What the server makes of the library."""

    def __init__(self) -> None:
        self.methods: dict[str, Method] = {}
        self.ports: list[str] = []
        self.stopped = 0

    def server(self, _threads: object) -> Any:
        def stop(_grace: float) -> Any:
            self.stopped += 1
            return SimpleNamespace(wait=lambda: None)

        return SimpleNamespace(
            add_generic_rpc_handlers=lambda _: None,
            add_insecure_port=self.ports.append,
            start=lambda: None,
            stop=stop,
        )

    def method_handlers_generic_handler(self, service: str, methods: dict[str, Method]) -> None:
        self.methods |= {f"{service}/{name}": method for name, method in methods.items()}

    @staticmethod
    def unary_unary_rpc_method_handler(function: Method) -> Method:
        return function

    unary_stream_rpc_method_handler = unary_unary_rpc_method_handler


class Served:
    """A server, and what the kubelet calls."""

    def __init__(self, module: Any, grpc: Grpc, root: Path) -> None:
        self.grpc, self.api, self.board = grpc, Memory(), Board()
        (root / "cdi").mkdir()
        self.sockets = module.Sockets.of_kubelet(root)
        self.claims = Claims(NODE, self.api, root / "checkpoint.json", root / "cdi")
        self.claims.know(made_up(NODE, 2))
        self.registered = 0
        self.server = module.Server(self.sockets, self.claims, self.board, self.count)
        self.server.start()

    def count(self) -> None:
        self.registered += 1

    def call(self, method: str, request: bytes = b"") -> Any:
        function: Callable[[bytes, Any], Any] = self.grpc.methods[method]
        return function(request, SimpleNamespace(is_active=lambda: True))


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    grpc = Grpc()
    monkeypatch.setitem(sys.modules, "grpc", grpc)
    monkeypatch.delitem(sys.modules, "devctl_dra_plugin.server", raising=False)
    yield Served(importlib.import_module("devctl_dra_plugin.server"), grpc, tmp_path)
    monkeypatch.delitem(sys.modules, "devctl_dra_plugin.server", raising=False)


def request(*numbers: int) -> bytes:
    each = (ref(number) for number in numbers)
    said = (
        wire.text(1, one.namespace) + wire.text(2, one.uid) + wire.text(3, one.name) for one in each
    )
    return b"".join(wire.nested(1, one) for one in said)


def test_the_kubelets_services_are_there(served: Served, tmp_path: Path) -> None:
    dra = "k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin"
    assert set(served.grpc.methods) == {
        "pluginregistration.Registration/GetInfo",
        "pluginregistration.Registration/NotifyRegistrationStatus",
        f"{dra}/NodePrepareResources",
        f"{dra}/NodeUnprepareResources",
        "v1alpha1.DRAResourceHealth/NodeWatchResources",
    }
    # The kubelet finds the second, which must lead it to a plugin that serves.
    assert served.grpc.ports == [
        f"unix:{tmp_path}/plugins/canhazgpu.com/dra.sock",
        f"unix:{tmp_path}/plugins_registry/canhazgpu.com-reg.sock",
    ]


def test_it_registers(served: Served, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    service = "pluginregistration.Registration"
    endpoint = f"{tmp_path}/plugins/canhazgpu.com/dra.sock"
    info = messages.plugin_info("canhazgpu.com", endpoint)
    assert served.call(f"{service}/GetInfo") == info
    served.call(f"{service}/NotifyRegistrationStatus", wire.text(2, "too old"))
    assert (served.registered, "refused the plugin: too old" in caplog.text) == (0, True)
    served.call(f"{service}/NotifyRegistrationStatus", wire.number(1, 1))
    assert served.registered == 1


def test_a_batch_is_answered_claim_by_claim(served: Served) -> None:
    served.api.allocate(ref(1), 1)
    both = served.call(f"{messages.PLUGIN}/NodePrepareResources", request(1, 2))
    expected = {"uid-1", "uid-2"}
    answers = [wire.texts(value) for _, value in wire.fields(both) if isinstance(value, bytes)]
    assert {each[1] for each in answers} == expected
    assert "gpu-1" in answers[0][2]
    assert "there is no such claim" in answers[1][2]
    gone = served.call(f"{messages.PLUGIN}/NodeUnprepareResources", request(1, 2))
    assert gone == messages.unprepared(dict.fromkeys(sorted(expected), ""))


def test_health_is_streamed_until_the_plugin_stops(served: Served) -> None:
    found = reports(NODE, made_up(NODE, 2), 1.0)
    served.board.show(found)
    stream = served.call(f"{messages.HEALTH}/NodeWatchResources")
    assert next(stream) == messages.device_healths(found)
    served.server.stop()
    assert list(stream) == []
    assert served.grpc.stopped == 2
    assert not served.sockets.exist()
