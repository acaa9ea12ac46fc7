from __future__ import annotations

import signal
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WHERE = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "1"}


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The program without gRPC, which only the image has."""
    monkeypatch.setitem(sys.modules, "grpc", SimpleNamespace())
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(signal, "alarm", lambda _: 0)
    import devctl_dra_plugin.__main__ as module  # noqa: PLC0415

    yield module
    for name in ("__main__", "server"):
        monkeypatch.delitem(sys.modules, f"devctl_dra_plugin.{name}", raising=False)


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        (WHERE, "the variable 'NODE_NAME' is not set"),
        ({"NODE_NAME": "a"}, "the variable 'KUBERNETES_SERVICE_HOST' is not set"),
        (
            WHERE | {"NODE_NAME": "a", "MADE_UP_GPUS": "many"},
            "MADE_UP_GPUS must be a number from 0 to 64, not `many`",
        ),
    ],
)
def test_settings_that_make_no_sense_end_it(
    program: Any, environment: dict[str, str], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(SystemExit) as ended:
        program.main(environment)
    assert (ended.value.code, said in caplog.text) == (2, True)


class Plugin:
    """One that the kubelet takes after its second look."""

    def __init__(self) -> None:
        self.looks = 0

    @property
    def is_ready(self) -> bool:
        return self.looks > 1

    def step(self) -> None:
        self.looks += 1

    def wait(self) -> None:
        pass


def test_it_is_ready_once_its_gpus_are_offered_and_ends_without_a_socket(
    program: Any, tmp_path: Path
) -> None:
    plugin, seen = Plugin(), list[bool]()

    def exist() -> bool:
        seen.append((tmp_path / "ready").exists())
        return len(seen) < 3

    with pytest.raises(SystemExit) as ended:
        program.run(plugin, SimpleNamespace(exist=exist), tmp_path / "ready")
    assert (ended.value.code, seen) == (1, [False, True, True])


def test_it_starts_with_the_nodes_folders_and_stops_at_last(
    program: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    happened = []

    class Server:
        def __init__(self, sockets: Any, *_: object) -> None:
            happened.append(str(sockets.plugin.relative_to(tmp_path)))

        def start(self) -> None:
            happened.append("start")

        def stop(self) -> None:
            happened.append("stop")

    (tmp_path / "cdi").mkdir()
    monkeypatch.setattr(program, "Server", Server)
    monkeypatch.setattr(program, "run", lambda *_: sys.exit(0))
    roots = {"KUBELET_ROOT": str(tmp_path), "CDI_ROOT": str(tmp_path / "cdi")}
    with pytest.raises(SystemExit) as ended:
        program.main(WHERE | roots | {"NODE_NAME": "a", "MADE_UP_GPUS": "2"})
    assert ended.value.code == 0
    assert happened == ["plugins/canhazgpu.com/dra.sock", "start", "stop"]


def test_a_redis_is_used_where_one_is_named_and_only_there(program: Any) -> None:
    assert type(program.agreement_of({})).__name__ == "NoAgreement"
    named = {"REDIS": "unix:///nowhere", "REDIS_PASSWORD_FILE": "/nowhere/password"}
    assert type(program.agreement_of(named)).__name__ == "HostTool"
    with pytest.raises(program.SettingError, match="REDIS: `nowhere` is neither HOST:PORT nor"):
        program.agreement_of({"REDIS": "nowhere"})
