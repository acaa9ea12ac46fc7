"""Starts ansible-runner as ansible-operator does and takes down the events that it posts."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import signal
import socket
import socketserver
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Self

from devctl.local.paths import REPOSITORY, cache_paths

if TYPE_CHECKING:
    from collections.abc import Mapping

REQUIREMENTS = REPOSITORY / "images/operator/requirements.txt"
PACKAGE = REPOSITORY / "images/operator"
_PLUGINS = REPOSITORY / "plugins"
OF_THE_CHECKOUT = {
    "ANSIBLE_ACTION_PLUGINS": str(_PLUGINS / "action"),
    "PYTHONPATH": f"{_PLUGINS}:{REPOSITORY}:{REPOSITORY / 'tests'}",
    "DEVCTL_RUNNER_IN_PROCESS": "apply",
}
"""Settings with which runs find this checkout's plugins and do `apply` in their own process."""

NOT_WARM = "runs go to the stock ansible-runner: "
"""What a daemon says that cannot be warm, before it says why."""

# As inputdir.go writes it.
HOSTS = "localhost ansible_connection=local ansible_python_interpreter={{ansible_playbook_python}}"


def operator_python() -> Path:
    """A Python with what the operator's image has but ours.

    Operator.environment says where our package is. DEVCTL_OPERATOR_PYTHON names another one, with
    other versions.
    """
    if other := os.environ.get("DEVCTL_OPERATOR_PYTHON"):
        return Path(other)
    return python_with(REQUIREMENTS, "runner-tests")


def python_with(requirements: Path, name: str) -> Path:
    """A Python with what an image has, made once for each requirements.txt.

    It outlives this checkout and serves others.
    """
    content = requirements.read_bytes() + sys.version.encode()
    folder = cache_paths().root / f"{name}-{hashlib.sha256(content).hexdigest()[:12]}"
    python = folder / "bin" / "python"
    if not (folder / "done").exists():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        install = ["install", "--quiet", "--require-hashes", "--only-binary", ":all:"]
        subprocess.run([python, "-m", "pip", *install, "--requirement", requirements], check=True)
        (folder / "done").touch()
    return python


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("localhost", 0)) as server:
        return int(server.getsockname()[1])


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: EventServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.events.append(json.loads(body))
        self.send_response(204)
        self.end_headers()

    def address_string(self) -> str:
        return "unix"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        pass


class EventServer(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True

    def __init__(self, path: Path) -> None:
        super().__init__(str(path), _Handler)
        self.events: list[dict[str, Any]] = []
        self._path = path

    def __enter__(self) -> Self:
        Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *args: object) -> None:
        self.shutdown()
        self.server_close()
        self._path.unlink()


@dataclass
class Result:
    """What came of one run."""

    status: int
    output: str
    seconds: float
    events: list[dict[str, Any]]

    def shape(self) -> list[tuple[str, Any, Any]]:
        """Type, task and message of each event, in order."""
        found = []
        for event in self.events:
            result = event["event_data"].get("res") or {}
            found.append((event["event"], event["event_data"].get("task"), result.get("msg")))
        return found

    def messages(self, kind: str) -> list[Any]:
        """The messages of the events of one type."""
        return [message for event, _, message in self.shape() if event == kind]


@dataclass
class Operator:
    """What the operator's pod is to its runs: an environment, folders and sockets."""

    folder: Path
    python: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    daemon: subprocess.Popen[bytes] | None = None

    @property
    def environment(self) -> dict[str, str]:
        """The operator's environment, and so the daemon's and the runs'."""
        search = [str(PACKAGE), *filter(None, [self.settings.get("PYTHONPATH")])]
        return {
            "PATH": f"{self.python.parent}:{os.environ['PATH']}",
            "HOME": str(self.folder),
            "LC_ALL": "C.UTF-8",
            "ANSIBLE_HOME": str(self.folder / "ansible"),
            "ANSIBLE_GATHERING": "explicit",
            "DEVCTL_RUNNER_DIR": str(self.folder / "daemon"),
            "DEVCTL_RUNNER_WATCHES": str(self.folder / "watches.yaml"),
            "DEVCTL_RUNNER_METRICS_PORT": str(self.port),
            **self.settings,
            "PYTHONPATH": os.pathsep.join(search),
        }

    def start(self, *roles: Path, until: str = "warm after") -> None:
        """Start the daemon and wait until it is warm, or has said something else."""
        watches = [{"kind": role.name, "role": str(role)} for role in roles]
        (self.folder / "watches.yaml").write_text(json.dumps(watches))
        with (self.folder / "daemon.log").open("wb") as log:
            self.daemon = subprocess.Popen(
                [self.python, "-P", "-m", "devctl_runner.daemon"],
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.await_log(until)

    def await_log(self, text: str, times: int = 1) -> None:
        """Wait until the daemon has said something."""
        deadline = time.monotonic() + 60
        while (said := self.log()).count(text) < times:
            assert time.monotonic() < deadline, said
            assert NOT_WARM not in said, said
            time.sleep(0.02)

    def log(self) -> str:
        """What the daemon said."""
        return (self.folder / "daemon.log").read_text()

    def stop(self) -> None:
        """End the daemon, whoever started it."""
        if self.daemon:
            self.daemon.kill()
            self.daemon.wait()
            self.daemon = None
        # One that a client started holds the lock file open.
        lock = self.folder / "daemon" / "lock"
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if any(link.resolve() == lock for link in (process / "fd").iterdir()):
                    os.kill(int(process.name), signal.SIGKILL)

    def metrics(self) -> dict[str, float]:
        """The daemon's figures, without their common prefix."""
        address = f"http://localhost:{self.port}/metrics"
        with urllib.request.urlopen(address, timeout=5) as reply:
            lines = reply.read().decode().splitlines()
        pairs = [line.rsplit(" ", 1) for line in lines if not line.startswith("#")]
        return {name.removeprefix("devctl_runner_"): float(value) for name, value in pairs}

    def write(self, name: str, ident: str, variables: Mapping[str, Any]) -> Path:
        """The folder of one object's runs, as the operator writes it before each."""
        folder = self.folder / "runs" / name
        kubeconfig = str(self.folder / f"kubeconfig-{ident}")
        files = {
            "env/envvars": json.dumps(
                {"KUBECONFIG": kubeconfig, "K8S_AUTH_KUBECONFIG": kubeconfig}
            ),
            "env/extravars": json.dumps(variables),
            "env/settings": json.dumps(
                {"runner_http_url": str(self.socket(name, ident)), "runner_http_path": "/events/"}
            ),
            "inventory/hosts": HOSTS,
        }
        (folder / "project").mkdir(parents=True, exist_ok=True)
        for path, text in files.items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text(text)
        return folder

    def socket(self, name: str, ident: str) -> Path:
        """Where one run posts its events; short, as a socket's path must be."""
        return self.folder / f"{name}-{ident}"

    def command(self, kind: str, what: Path, folder: Path, ident: str) -> list[str]:
        """ansible-operator's command line for a role or a playbook."""
        module = {"stock": "ansible_runner", "warm": "devctl_runner.client"}[kind]
        form = ["-p", str(what), "-i", ident]
        if what.is_dir():
            form = ["--role", what.name, "--roles-path", f"{what.parent}/"]
            form += ["--hosts", "localhost", "-i", ident, "--role-skip-facts"]
        run = ["run", str(folder), "--rotate-artifacts", "3", *form]
        return [str(self.python), "-P", "-m", module, *run]

    def run(
        self,
        kind: str,
        what: Path,
        variables: Mapping[str, Any] | None = None,
        *,
        name: str = "a",
        ident: str = "1",
    ) -> Result:
        """One run, to its end."""
        folder = self.write(name, ident, variables or {})
        started = time.monotonic()
        with EventServer(self.socket(name, ident)) as server:
            done = subprocess.run(
                self.command(kind, what, folder, ident),
                env=self.environment,
                cwd=self.folder,
                capture_output=True,
                text=True,
                check=False,
                stdin=subprocess.DEVNULL,
            )
        seconds = time.monotonic() - started
        # The others say how the runner itself is doing; the operator drops them.
        events = [event for event in server.events if event.get("uuid")]
        return Result(done.returncode, done.stdout + done.stderr, seconds, events)
