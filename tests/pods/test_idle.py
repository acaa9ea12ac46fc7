"""What keeps a server running and what does not, with real processes in real pods.

All servers begin together with the shortest possible limit. Each does one thing of which others
have thought that nobody needs it any more, or which only looks like work.
"""

from __future__ import annotations

import signal
import time
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from threading import Event, Thread
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from support.command_line import CommandLine
from support.idle import ACTIVITY, node_of, uid_of
from support.servers import DevServer, apply_flavor, wait_until
from websockets.sync.client import connect

from devctl.api.conditions import find
from devctl.api.idleness import Idleness, grace_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from subprocess import Popen

    from support.commands import Kubectl

    from devctl.local.paths import ClusterPaths

    Begin = Callable[["Day", str], object]

LIMIT = 60
TIME = "%Y-%m-%dT%H:%M:%SZ"
TOMORROW = (datetime.now(UTC) + timedelta(days=1)).strftime(TIME)
PRECISION = 10
"""Seconds by which a status may be off about the last activity before it is written again."""
WARNING = grace_seconds(LIMIT)
FOUR_RANKS = {"mode": "distributed", "distributed": {"worldSize": 4, "backend": "gloo"}}
LIFE = {"idleTimeout": f"{LIMIT}s", "autoShutdown": True}
# About a tenth of a core, in short bursts.
WORKS = "while :; do timeout 0.1 sh -c 'while :; do :; done'; sleep 0.9; done"
TRICKLES = """
import http.server, time
class Slow(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        while True:
            self.wfile.write(b"x" * 1024)
            time.sleep(0.5)
http.server.ThreadingHTTPServer(("", 8000), Slow).serve_forever()
"""
# Starts Jupyter as `devctl jupyter --keep` does, runs some code in a kernel, and leaves it alone.
NOTEBOOK = """
echo secret | /opt/devctl/jupyter keep /home/dev 8888
/opt/jupyter/bin/python - {code!r} <<'END'
import json, sys, time, urllib.request
from jupyter_client import BlockingKernelClient, find_connection_file
ask = urllib.request.Request("http://127.0.0.1:8888/api/kernels", data=b"{{}}", method="POST")
ask.add_header("Authorization", "token secret")
for _ in range(60):
    try:
        kernel = json.load(urllib.request.urlopen(ask))["id"]
        break
    except OSError:
        time.sleep(1)
time.sleep(3)
client = BlockingKernelClient(connection_file=find_connection_file(kernel))
client.load_connection_file()
client.start_channels()
while True:
    try:
        client.wait_for_ready()
        break
    except RuntimeError:  # its heart does not beat yet
        time.sleep(1)
client.execute(sys.argv[1])
time.sleep(3)
print(kernel)
END
"""
WHEEL = "http://download-server:8000/a-1-py3-none-any.whl"
EDITOR = "mkdir -p .vscode-server/bin && cp /bin/sleep .vscode-server/bin/node"
OPEN = f"{EDITOR} && nohup ~/.vscode-server/bin/node 3600 >/dev/null 2>&1 &"


class Day:
    """A namespace with servers that all have the same limit, and their owner's shell.

    Attributes:
        shell: The owner's.
        failed: What failed commands of the owner's said.
    """

    def __init__(self, kubectl: Kubectl, namespace: str, image: str, shell: CommandLine) -> None:
        """Create no server yet."""
        self._kubectl, self._namespace, self.shell = kubectl, namespace, shell
        self._spec = {
            "owner": "alice@company.com",
            "flavor": namespace,
            "image": image,
            "persistentHomeSize": "50Mi",
            "lifecycle": LIFE,
        }
        self.stack = ExitStack()
        self.failed: list[str] = []

    def server(self, name: str, **spec: Any) -> DevServer:
        """A server by its name."""
        return DevServer(self._kubectl, self._namespace, self._spec | spec, name)

    def start(self, name: str, *args: str) -> Popen[bytes]:
        """Start a command of devctl that stays until the end."""
        process = self.shell.start(*args)
        self.stack.callback(process.wait, 30)
        self.stack.callback(process.send_signal, signal.SIGINT)
        wait_until(lambda: process.poll() is None, f"{name} has begun")
        return process

    def repeat(self, *args: str) -> None:
        """Run a command of devctl now, and every twenty seconds until the end."""
        ended = Event()
        self.shell.must(*args)

        def run() -> None:
            while not ended.wait(20):
                ran = self.shell(*args)
                if ran.returncode:
                    self.failed.append(ran.stderr.decode())

        thread = Thread(target=run)
        thread.start()
        self.stack.callback(thread.join, 60)
        self.stack.callback(ended.set)

    def shows(self, name: str, *args: str) -> None:
        """Open a terminal that stays until the end."""
        terminal = self.shell.terminal(*args)
        terminal.expect("[$] ")
        self.stack.callback(terminal.close, force=True)
        assert terminal.isalive(), name


def run(script: str) -> Begin:
    return lambda day, name: day.server(name).run(script)


def nohup(script: str) -> Begin:
    """Over SSH, whose connection ends at once."""
    line = f"nohup sh -c {script!r} >/dev/null 2>&1 &"
    return lambda day, name: day.shell.must("ssh", name, "--", line)


def notebook(code: str) -> Begin:
    """A kernel that has been given some code."""
    return lambda day, name: day.server(name).run(NOTEBOOK.format(code=code))


def browser(day: Day, name: str) -> None:
    """An open browser tab with a notebook in which nothing runs."""
    kernel = day.server(name).run(NOTEBOOK.format(code="1 + 1"))
    forward = day.start(name, "port-forward", name, ":8888")
    assert forward.stdout
    here = forward.stdout.readline().decode().partition(" ")[0]
    day.stack.enter_context(connect(f"ws://{here}/api/kernels/{kernel}/channels?token=secret"))


KEEPS: dict[str, Begin] = {
    "tmux": run("tmux new-session -d 'sleep 3600'"),
    "nohup": nohup("sleep 3600"),
    "works": nohup(WORKS),
    # Its GPU has no load.
    "loader": nohup(WORKS),
    "pip": run(f"nohup python3 -m pip download {WHEEL} >/dev/null 2>&1 &"),
    "download": run("nohup curl -s download-server:8000 -o /dev/null >/dev/null 2>&1 &"),
    "kernel": notebook("import time; time.sleep(3600)"),
    "ssh": lambda day, name: day.shows(name, "ssh", name),
    "exec": lambda day, name: day.shows(name, "exec", name, "-it", "--", "sh"),
    "commands": lambda day, name: day.repeat("exec", name, "--", "true"),
    "asked-active": lambda _day, _name: None,
}
"""What keeps a server running, by the server's name."""
STOPS: dict[str, Begin] = {
    "untouched": lambda _day, _name: None,
    "browser": browser,
    "left": run("tmux new-session -d"),
    "forwards": lambda day, name: day.start(name, "ssh", name, "-N"),
    "editor": run(OPEN),
    "asked-idle": lambda _day, _name: None,
}
"""What does not."""
UNKNOWN = "asked-in-vain"
"""A server whose activity probe hangs."""
PROBES = {"asked-active": ["true"], "asked-idle": ["false"], UNKNOWN: ["sleep", "3600"]}
"""The commands of activity probes, by the server's name."""
TOLD = "told"
"""A server in whose only terminal nobody works; its test opens that, and it is held until then."""


@pytest.fixture(scope="module")
def day(
    kubectl: Kubectl,
    paths: ClusterPaths,
    torch_image: str,
    user_programs: None,  # noqa: ARG001 - comes first
    tmp_path_factory: Any,
) -> Iterator[Day]:
    """A day on which everybody has begun."""
    namespace = f"idle-{uuid4().hex[:6]}"
    kubectl("create", "namespace", namespace)
    memory = {"requests": {"cpu": "20m", "memory": "64Mi"}, "limits": {"memory": "1Gi"}}
    apply_flavor(kubectl, namespace, resources=memory)
    gpu = {side: one | {"nvidia.com/gpu": "1"} for side, one in memory.items()}
    own = {"loader": {"flavor": apply_flavor(kubectl, f"{namespace}-gpu", resources=gpu)}}
    lives: dict[str, dict[str, Any]] = {
        name: {"activityProbe": {"exec": {"command": it}, "periodSeconds": 15, "timeoutSeconds": 2}}
        for name, it in PROBES.items()
    }
    shell = CommandLine(paths.kubeconfig, namespace, tmp_path_factory.mktemp("home"))
    made = Day(kubectl, namespace, torch_image, shell)
    begins = STOPS | KEEPS
    servers = {name: made.server(name, **own.get(name, {})) for name in (*begins, UNKNOWN, TOLD)}
    servers["ranks"] = made.server("ranks", **FOUR_RANKS)
    try:
        for name, server in servers.items():
            # On a busy machine, it takes some time until the last one has begun.
            held = {} if name == "untouched" else {"holdUntil": TOMORROW}
            server.apply(lifecycle=LIFE | lives.get(name, {}) | held)
        with serving(kubectl, namespace, torch_image), made.stack:
            for name, begin in begins.items():
                servers[name].wait("Ready")
                begin(made, name)
                servers[name].apply(lifecycle=LIFE | lives.get(name, {}))
            servers["ranks"].wait("Ready")
            servers["ranks"].run("nohup sleep 3600 >/dev/null 2>&1 &", 2)
            for name in ("ranks", UNKNOWN):
                servers[name].apply(lifecycle=LIFE | lives.get(name, {}))
            yield made
    finally:
        kubectl("-n", namespace, "delete", "devserver", "--all", "--timeout=90s")
        kubectl("delete", "namespace", namespace, "--wait=false")
        kubectl("delete", "devserverflavor", namespace, f"{namespace}-gpu")


@contextmanager
def serving(kubectl: Kubectl, namespace: str, image: str) -> Iterator[None]:
    """A pod that sends two kibibytes a second for ever."""
    labels = {"app": "download-server"}
    container = {"name": "main", "image": image, "command": ["python3", "-c", TRICKLES]}
    made: tuple[dict[str, Any], ...] = (
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "download-server", "namespace": namespace, "labels": labels},
            "spec": {"containers": [container], "terminationGracePeriodSeconds": 0},
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "download-server", "namespace": namespace},
            "spec": {"selector": labels, "ports": [{"port": 8000}]},
        },
    )
    for manifest in made:
        kubectl.api.create(manifest)
    kubectl("-n", namespace, "wait", "pod/download-server", "--for=condition=Ready")
    yield


def keeps_running(server: DevServer) -> None:
    """Wait for its limit, the longest time between two reports, and as much again."""
    assert "startedAt" in server.status, server.status
    began = datetime.fromisoformat(server.status["startedAt"]).timestamp()
    time.sleep(max(0.0, began + 3 * LIMIT - time.time()))
    assert not server.get("devserver", server.name)[0]["spec"].get("stopped"), server.status


def stopped_at(found: dict[str, Any]) -> datetime | None:
    """When a server was stopped because it was idle."""
    said = find(found.get("status", {}), "Ready")
    if said.get("reason") != "IdleStopped":
        return None
    return datetime.fromisoformat(said["lastTransitionTime"])


def test_an_open_terminal_shows_that_the_server_is_about_to_be_stopped(day: Day) -> None:
    server = day.server(TOLD)
    server.wait("Ready")
    opened = (datetime.now(UTC) - timedelta(seconds=PRECISION)).strftime(TIME)
    server.run("tmux new-session -d")
    server.apply()
    api, uid, node = server.kubectl.api, uid_of(server), node_of(server)

    def asked() -> dict[str, Any]:
        return api.get(ACTIVITY, node) or {}

    def is_told() -> bool:
        """Whether it is, by a warning that knows of the terminal."""
        idle = server.status.get("idle", {})
        signals = {each["type"]: each for each in idle.get("signals", [])}
        used = signals.get("Terminal", {}).get("lastActiveAt", "")
        told = any(p["uid"] == uid and p.get("notice") for p in asked()["spec"]["pods"])
        return told and opened <= used < idle.get("warnedAt", "")

    wait_until(is_told, lambda: f"the notice is sent: {server.status.get('idle')}", 4 * LIMIT)
    reports, warned_at = asked()["status"]["sequence"], server.status["idle"]["warnedAt"]
    # The answer to a report has the notice. Nobody looks earlier: a look could be an activity.
    wait_until(lambda: asked()["status"]["sequence"] > reports, "the agent asks")
    # What is shown stays, and the server has to be there for a look. The line itself is no input.
    server.apply(lifecycle=LIFE | {"holdUntil": TOMORROW})
    wait_until(lambda: server.condition("Idle")["reason"] == "Held", "it is idle with it")
    signals = {each["type"]: each for each in server.status["idle"]["signals"]}
    assert signals["Terminal"]["lastActiveAt"] < warned_at
    screen = server.run("sleep 1; tmux capture-pane -p -J")
    assert f"devctl: {TOLD} has been idle for" in screen
    assert f"`devctl hold {TOLD} --for 12h` keeps it running" in screen


@pytest.mark.parametrize("name", STOPS)
def test_what_nobody_uses_is_stopped_and_not_before_its_time(day: Day, name: str) -> None:
    server = day.server(name)
    server.follow(lambda found: stopped_at(found) is not None, "it is stopped", 5 * LIMIT)
    found = server.get("devserver", name)[0]
    last = datetime.fromisoformat(found["status"]["lastActivityAt"])
    ended = stopped_at(found)
    assert ended
    # By the times that the status itself says: of when the test let it go, nothing is known here.
    verdicts = {each["verdict"]: each["at"] for each in found["status"]["idle"]["verdicts"]}
    warned = datetime.fromisoformat(verdicts[Idleness.SOON])
    due = max(last + timedelta(seconds=LIMIT), warned + timedelta(seconds=WARNING))
    early = (due - ended).total_seconds()
    assert early <= PRECISION, f"{early:.0f} s early"
    assert found["spec"]["stopped"]
    assert server.get("persistentvolumeclaim", f"home-{name}-0")


@pytest.mark.parametrize("name", [*KEEPS, "ranks"])
def test_what_somebody_uses_keeps_running(day: Day, name: str) -> None:
    server = day.server(name)
    keeps_running(server)
    assert not day.failed
    said = server.condition("Idle")
    assert (said["status"], said["reason"]) == ("False", "Active"), said


def test_a_server_whose_probe_hangs_is_kept(day: Day) -> None:
    server = day.server(UNKNOWN)
    server.wait("Ready")
    keeps_running(server)
    said = server.condition("Idle")
    assert (said["status"], said["reason"]) == ("Unknown", "SignalUnknown"), said
    assert "signal Probe of its pod" in said["message"]
    assert "the probe did not end within 2 s" in said["message"]


def test_a_server_that_was_stopped_starts_with_its_files(day: Day) -> None:
    server = day.server("untouched")
    server.follow(lambda found: stopped_at(found) is not None, "it is stopped", 3 * LIMIT)
    assert "stops" not in day.shell.must("describe", "untouched")
    day.shell.must("start", "untouched", "--wait")
    day.shell.must("hold", "untouched", "--for", "1h")
    assert "held: it is not stopped before" in day.shell.must("describe", "untouched")
