"""The commands that reach into a server, against an API server and streams in memory."""

from __future__ import annotations

import doctest
import json
import shlex
import signal
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, Self

import pytest
import yaml

from devctl.cli import code, port_forward
from devctl.cli.doctor import lines
from devctl.client import jupyter as client_jupyter
from devctl.client.findings import Finding, State
from devctl.client.ssh import keys, proxy
from devctl.client.streams import execute, port_forwards
from devctl.errors import BusyError, DevctlError
from unit.client.fake_streams import HOST_KEY, STDERR, STDOUT, FakeStream, there

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType

    from unit.cli.conftest import Devctl
    from unit.client.fake_cluster import FakeApi

# What the shell, click or ssh could take for something else.
ODD = ["; rm -rf .", "$(touch evil)", "--help", "-n", "a b", "'\"", ""]


@pytest.fixture
def stream(monkeypatch: pytest.MonkeyPatch) -> FakeStream:
    found = FakeStream()
    monkeypatch.setattr(execute, "open_exec", found.open)
    monkeypatch.setattr(proxy, "open_exec", found.open)
    return found


@pytest.fixture
def became(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What this process would have become."""
    seen: list[list[str]] = []

    def become(_program: str, argv: list[str]) -> NoReturn:
        seen.append(argv)
        raise SystemExit(0)

    monkeypatch.setattr("os.execvp", become)
    return seen


@pytest.fixture(autouse=True)
def kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What leads to the API server in memory."""
    file = tmp_path / "kubeconfig"
    cluster = {"name": "c", "cluster": {"server": "https://cluster.example:6443"}}
    context = {"name": "now", "context": {"cluster": "c", "user": "u"}}
    users = [{"name": "u", "user": {}}]
    whole = {"clusters": [cluster], "contexts": [context], "users": users, "current-context": "now"}
    file.write_text(yaml.safe_dump(whole))
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("KUBECONFIG", str(file))
    return file


@pytest.mark.parametrize("module", [code, port_forward])
def test_examples(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0


def test_exec_passes_words_bytes_and_the_code(
    api: FakeApi, devctl: Devctl, stream: FakeStream
) -> None:
    there(api, replicas=2)
    stream.says, stream.code = [], 42
    found = devctl("exec", "lab", "--replica", "1", "--", "echo", *ODD)
    assert found.code == 42
    how = {"stdin": False, "tty": False}
    assert stream.opened == [("lab-1", ["echo", *ODD], "dev-alice", how)]


def test_exec_prints_what_the_command_prints(
    api: FakeApi, devctl: Devctl, stream: FakeStream
) -> None:
    there(api)
    stream.says = [(STDOUT, b"out\n"), (STDERR, b"err\n")]
    assert devctl("exec", "lab", "--", "true") == (0, "out\n", "err\n")


def test_exec_says_what_is_wrong(api: FakeApi, devctl: Devctl, stream: FakeStream) -> None:
    assert devctl("exec", "lab", "--", "true").code == 3
    there(api)
    assert devctl("exec", "lab").code == 2
    assert devctl("exec", "lab", "-t", "--", "sh").stderr.endswith("fix: add -i: `-it`\n")
    assert "leave out -t" in devctl("exec", "lab", "-it", "--", "sh").stderr
    lost = DevctlError("pod `lab-0` has no such command: x", "check its spelling")
    lost.exit_code = 127
    stream.says = [lost]
    assert devctl("exec", "lab", "--", "x").code == 127


def test_ssh_becomes_the_systems_ssh(
    api: FakeApi, devctl: Devctl, became: list[list[str]], kubeconfig: Path
) -> None:
    there(api, replicas=2)
    line = ("ssh", "lab", "--replica", "1", "-L", "80:localhost:80", "-t")
    assert devctl(*line, "--kubeconfig", str(kubeconfig), "--", "a b", "c").code == 0
    [argv] = became
    assert argv[0] == "ssh"
    assert argv[-6:] == ["-L", "80:localhost:80", "-t", "--", "lab.1.devctl", "'a b' c"]
    way = next(word for word in argv if word.startswith("ProxyCommand="))
    words = shlex.split(way.partition("=")[2])
    at = words.index("ssh-proxy")
    place = ["--namespace", "dev-alice", "--kubeconfig", str(kubeconfig)]
    assert words[at:] == ["ssh-proxy", *place, "lab.1.devctl"]


def test_ssh_says_itself_what_is_wrong(
    api: FakeApi, devctl: Devctl, became: list[list[str]]
) -> None:
    assert devctl("ssh", "lab").code == 3
    there(api)
    assert devctl("ssh", "lab", "--replica", "1").code == 3
    assert devctl("ssh", "--", "-oProxyCommand=x").code == 2
    assert devctl("ssh", "lab", "--user", "-x").code == 2
    api.refusals["GET", "pods"] = (403, "pods is forbidden")
    assert devctl("ssh", "lab").code == 5
    assert became == []


def test_the_proxy_carries_bytes_and_leaves_ctrl_c_to_ssh(
    api: FakeApi, devctl: Devctl, stream: FakeStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    there(api)
    ignored: list[Any] = []
    monkeypatch.setattr(signal, "signal", lambda *about: ignored.append(about))
    introduction = f"{HOST_KEY} lab-0\n".encode()
    stream.says = [(STDOUT, introduction + b"SSH-2.0-server\r\n"), (STDERR, b"hint\n")]
    stream.code = 255
    found = devctl("ssh-proxy", "lab")
    assert found == (255, "SSH-2.0-server\r\n", "hint\n")
    assert ignored == [(signal.SIGINT, signal.SIG_IGN)]
    api.drop("pods", "lab-0")
    stream.code = 137
    assert devctl("ssh-proxy", "lab").stderr.startswith("error: ")


@pytest.mark.usefixtures("api")
def test_a_configuration_of_an_earlier_release_says_what_to_do(devctl: Devctl) -> None:
    found = devctl("ssh-proxy", "lab", "--replica", "0", "--namespace", "dev-alice")
    assert (found.code, found.stdout) == (2, "")
    assert "run `devctl config-ssh`" in found.stderr


def test_the_proxy_is_not_for_people(devctl: Devctl) -> None:
    assert "ssh-proxy" not in devctl("--help").stdout


def test_config_ssh_shows_writes_and_takes_away(api: FakeApi, devctl: Devctl) -> None:
    there(api, replicas=2)
    own, mine = keys.config_file(), keys.users_config()
    shown = devctl("config-ssh", "--diff")
    assert "+Host *.devctl" in shown.stdout
    assert not mine.exists()
    refused = devctl("config-ssh")
    assert refused.code == 2
    assert "--yes" in refused.stderr
    assert not mine.exists()
    done = devctl("config-ssh", "--yes")
    assert done.stdout == f"{own} written\n{mine} written\n"
    assert done.stderr == "next: `ssh NAME.devctl`\n"
    # It leads to this cluster whatever becomes current.
    assert "--context now" in own.read_text()
    assert devctl("config-ssh").stderr == "nothing to change\nnext: `ssh NAME.devctl`\n"
    gone = devctl("config-ssh", "--remove", "--yes")
    assert gone.stdout == f"{mine} written\n{own} removed\n"
    assert mine.read_text() == ""
    assert not own.exists()
    assert devctl("config-ssh", "--remove").stderr == "nothing to change\n"


def test_config_ssh_asks_the_cluster_nothing(api: FakeApi, devctl: Devctl) -> None:
    assert devctl("config-ssh", "--yes").code == 0
    assert api.requests == []
    there(api, "new")
    assert devctl("config-ssh").stderr == "nothing to change\nnext: `ssh NAME.devctl`\n"


def test_code_opens_what_ssh_knows(
    api: FakeApi, devctl: Devctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    there(api)
    started: list[list[str]] = []

    def run(argv: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        started.append(argv)
        return subprocess.CompletedProcess(argv, 0)

    address = "vscode-remote://ssh-remote+lab.devctl/home/dev/src"
    assert devctl("code", "lab", "src", "--print").stdout == f"{address}\n"
    unknown = devctl("code", "lab")
    assert unknown.code == 1
    assert "`devctl config-ssh` once" in unknown.stderr
    devctl("config-ssh", "--yes")
    monkeypatch.setattr("subprocess.run", run)
    assert devctl("code", "lab", "src", "--editor", "cursor").code == 0
    # Who has agreed once is not asked again: not for a new server, and not after an upgrade.
    there(api, "new")
    keys.config_file().write_text("Host lab.devctl\n")
    assert devctl("code", "new").code == 0
    assert "Host *.devctl" in keys.config_file().read_text()
    assert started == [
        ["cursor", "--folder-uri", address],
        ["code", "--folder-uri", "vscode-remote://ssh-remote+new.devctl/home/dev"],
    ]


def test_code_without_an_editor_names_the_address(api: FakeApi, devctl: Devctl) -> None:
    there(api)
    devctl("config-ssh", "--yes")
    found = devctl("code", "lab", "--editor", "no-such-editor")
    assert found.code == 1
    assert "or open vscode-remote://ssh-remote+lab.devctl/home/dev" in found.stderr
    assert devctl("code", "lab", "--editor", "false").code == 1


class Port:
    """A port here that is open until somebody asks for its end."""

    local, port = 12345, 80

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def wait(self) -> NoReturn:
        raise KeyboardInterrupt


def test_port_forward_says_where_and_ends_with_ctrl_c(
    api: FakeApi, devctl: Devctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    there(api)
    asked: list[Any] = []

    def forward(_self: object, *arguments: Any, **how: Any) -> Port:
        how["failed"](DevctlError("nothing listens on port 80", "start it"))
        asked.append(arguments)
        return Port()

    monkeypatch.setattr(port_forwards.Forward, "__call__", forward)
    found = devctl("port-forward", "lab", "80", ":5000")
    assert found.code == 130
    assert found.stdout == "127.0.0.1:12345 -> lab-0:80\n" * 2
    assert "error: nothing listens" in found.stderr
    assert asked == [("lab", 80, 80), ("lab", 5000, 0)]


@pytest.mark.parametrize("ports", ["x", "0", "80:", "1:2:3", "65536", "²", "-1:80", "80:0"])
def test_ports_that_are_none(devctl: Devctl, ports: str) -> None:
    found = devctl("port-forward", "lab", "--", ports)
    assert (found.code, found.stdout) == (2, "")


def test_a_port_that_is_taken_is_told(
    api: FakeApi, devctl: Devctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    there(api)

    def taken(_port: int) -> NoReturn:
        raise BusyError("port 80 of this machine is in use", "name another one")

    monkeypatch.setattr(port_forwards, "_listener", taken)
    assert devctl("port-forward", "lab", "80").code == 1


@pytest.mark.parametrize("keep", [True, False])
def test_jupyter_prints_its_address(
    devctl: Devctl, api: FakeApi, monkeypatch: pytest.MonkeyPatch, *, keep: bool
) -> None:
    assert api
    asked: list[Any] = []

    class Started:
        url, port, forwarded = "http://127.0.0.1:8888/?token=x", 20000, Port()

        def wait(self) -> NoReturn:
            raise KeyboardInterrupt

    @contextmanager
    def start(_self: object, name: str, folder: str, **how: Any) -> Iterator[Started]:
        asked.append((name, folder, how))
        yield Started()

    monkeypatch.setattr(client_jupyter.StartJupyter, "__call__", start)
    monkeypatch.setattr(port_forwards, "is_free", lambda _port: False)
    found = devctl("jupyter", "lab", "src", "-n", "team", *(["--keep"] if keep else []))
    assert (found.code, found.stdout) == (130, "http://127.0.0.1:8888/?token=x\n")
    if keep:
        assert "`devctl port-forward lab 12345:20000 -n team`" in found.stderr
        assert "jupyter server stop 20000" in found.stderr
    how = {"replica": 0, "port": 0, "keep": keep}
    assert asked == [("lab", "/home/dev/src", how)]


def test_doctor_names_each_fix_and_fails_where_something_does(api: FakeApi, devctl: Devctl) -> None:
    api.denied = {("list", "devservers")}
    found = devctl("doctor")
    assert found.code == 1
    lines = found.stdout.splitlines()
    rights = next(number for number, line in enumerate(lines) if line.startswith("failed   rights"))
    assert lines[rights + 1].strip().startswith("fix: have an administrator bind")
    assert "failed: " in found.stderr


@pytest.mark.parametrize(
    ("width", "told"),
    [
        (
            0,
            [
                "failed   clock         it is an hour late",
                " " * 23 + "fix: set it, with NTP or by hand",
            ],
        ),
        (
            64,
            [
                "failed   clock         it is an hour late",
                " " * 23 + "fix: set it, with NTP or by hand",
            ],
        ),
        (30, ["failed   clock", "  it is an hour late", "  fix: set it, with NTP or by", "  hand"]),
    ],
)
def test_doctor_fits_its_terminal(width: int, told: list[str]) -> None:
    finding = Finding("clock", State.FAILED, "it is an hour late", "set it, with NTP or by hand")
    assert lines(finding, width) == told


def test_doctor_for_programs(api: FakeApi, devctl: Devctl) -> None:
    assert api
    checks = json.loads(devctl("doctor", "-o", "json").stdout)["checks"]
    assert checks[0].keys() == {"check", "state", "found", "fix"}
    assert yaml.safe_load(devctl("doctor", "-o", "yaml").stdout)["checks"]


def test_doctor_without_a_kubeconfig(devctl: Devctl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    found = devctl("doctor")
    assert found.code == 1
    assert "there is no kubeconfig" in found.stdout
    assert "fix: name one with --kubeconfig" in found.stdout
