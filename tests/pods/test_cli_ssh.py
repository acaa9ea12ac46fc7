"""SSH without a port: the system's own ssh, scp and rsync through devctl."""

from __future__ import annotations

import os
import re
import subprocess
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest
from support.runs import free_port
from websockets.client import ClientProtocol

from devctl import Client
from devctl.kube import pod_streams, websocket

if TYPE_CHECKING:
    from support.command_line import CommandLine
    from support.servers import DevServer

MEGABYTES = 100
AT_ONCE = 20
SERVES = "python3 -m http.server 8765 --bind 127.0.0.1 --directory /etc"


@pytest.fixture
def configured(command_line: CommandLine) -> CommandLine:
    """What `devctl config-ssh` writes is in the user's own configuration."""
    command_line.must("config-ssh", "--yes")
    return command_line


def run(command_line: CommandLine, *argv: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        argv,
        capture_output=True,
        check=False,
        env=command_line.variables,
        stdin=subprocess.DEVNULL,
        timeout=300,
    )


def test_a_command_and_its_exit_code(command_line: CommandLine) -> None:
    assert command_line.must("ssh", "lab", "--", "hostname").strip() == "lab-0"
    assert command_line.must("ssh", "lab", "--replica", "1", "--", "hostname").strip() == "lab-1"
    assert command_line("ssh", "lab", "--", "exit 7").returncode == 7


def test_user_folder_and_environment_are_the_servers(command_line: CommandLine) -> None:
    script = "id -un; pwd; echo $MASTER_ADDR $NODE_RANK $WORLD_SIZE"
    said = command_line.must("ssh", "lab", "--replica", "1", "--", script)
    assert said.splitlines() == ["dev", "/home/dev", "lab-0.lab 1 2"]


def test_a_terminal(command_line: CommandLine) -> None:
    shell = command_line.terminal("ssh", "lab")
    shell.expect("[$] ")
    shell.sendline("tty; exit 3")
    shell.expect("/dev/pts/")
    shell.wait()
    assert shell.exitstatus == 3


def test_a_session_is_its_own_keys_alone_and_has_no_port(
    configured: CommandLine, lab: DevServer
) -> None:
    keys, other = configured.home / ".ssh/devctl", configured.home / "other"
    made = run(configured, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other))
    assert made.returncode == 0, made.stderr
    written = (keys / "config").read_text()
    (own,) = set(re.findall(r"IdentityFile (\S+)", written))
    config = configured.home / "config"
    for identity, code, said in ((own, 7, ""), (str(other), 255, "Permission denied (publickey)")):
        config.write_text(written.replace(own, identity))
        done = run(configured, "ssh", "-F", str(config), "lab.devctl", "exit 7")
        assert (done.returncode, said in done.stderr.decode()) == (code, True), done.stderr
    listening = lab.run("grep -c ' 0A ' /proc/net/tcp /proc/net/tcp6 || true")
    assert listening.split() == ["/proc/net/tcp:0", "/proc/net/tcp6:0"]


def test_a_large_file_by_scp(configured: CommandLine, lab: DevServer) -> None:
    source = configured.home / "large"
    source.write_bytes(os.urandom(MEGABYTES << 20))
    config = ("-F", str(configured.home / ".ssh/config"))
    done = run(configured, "scp", *config, str(source), "lab.devctl:large")
    assert done.returncode == 0, done.stderr
    digest = sha256(source.read_bytes()).hexdigest()
    assert lab.run("sha256sum large").split()[0] == digest
    back = configured.home / "back"
    done = run(configured, "scp", *config, "lab.devctl:large", str(back))
    assert done.returncode == 0, done.stderr
    assert sha256(back.read_bytes()).hexdigest() == digest
    lab.run("rm large")


def test_many_sessions_at_once(command_line: CommandLine, lab: DevServer) -> None:
    lab.run("mkdir here")
    # Nobody leaves before all are there.
    meet = f"until [ $(ls here | wc -l) = {AT_ONCE} ]; do sleep 0.2; done"

    def session(number: int) -> str:
        return command_line.must("ssh", "lab", "--", f"touch here/{number}; {meet}; echo {number}")

    with ThreadPoolExecutor(AT_ONCE) as pool:
        assert list(pool.map(session, range(AT_ONCE))) == [f"{n}\n" for n in range(AT_ONCE)]
    lab.run("rm -r here")


def test_rsync_goes_both_ways(configured: CommandLine, lab: DevServer) -> None:
    source = configured.home / "tree"
    (source / "a b").mkdir(parents=True)
    (source / "a b/$(touch x)").write_text("1")
    shell = ("-e", f"ssh -F {configured.home}/.ssh/config")
    done = run(configured, "rsync", "-a", *shell, f"{source}/", "lab.1.devctl:tree/")
    assert done.returncode == 0, done.stderr
    done = run(configured, "rsync", "-a", *shell, "lab.1.devctl:tree/", f"{source}-back/")
    assert done.returncode == 0, done.stderr
    assert (configured.home / "tree-back/a b/$(touch x)").read_text() == "1"
    lab.run("rm -r tree", rank=1)


def test_a_port_is_forwarded_as_long_as_the_session_lasts(command_line: CommandLine) -> None:
    port = free_port()
    forward = ("-L", f"{port}:127.0.0.1:8765", "-t")
    session = command_line.terminal("ssh", "lab", *forward, "--", SERVES)
    session.expect("Serving HTTP")
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/hostname", timeout=20) as reply:
        assert reply.read().decode().strip() == "lab-0"
    session.sendintr()
    session.wait()
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5)


def test_a_replica_is_known_by_the_key_of_its_home_alone(
    configured: CommandLine, lab: DevServer
) -> None:
    configured.must("ssh", "lab", "--", "true")
    keys, config = configured.home / ".ssh/devctl", configured.home / "other-config"
    (known,) = (keys / "known_hosts").glob("lab.devctl.*")
    _, *key = known.read_text().split()
    assert lab.run("ssh-keygen -y -f .devctl/ssh_host_ed25519_key").split()[:2] == key
    written = (keys / "config").read_text()
    config.write_text(written.replace("  User dev", "  User dev\n  HostKeyAlias somebody-else"))
    done = run(configured, "ssh", "-F", str(config), "lab.devctl", "touch let-in")
    assert (done.returncode, b"Host key verification failed" in done.stderr) == (255, True)
    assert lab.run("ls let-in 2>/dev/null || true") == ""


def test_silence_is_filled_with_pings(
    command_line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[bytes] = []
    ping = ClientProtocol.send_ping

    def noted(protocol: ClientProtocol, payload: bytes) -> None:
        sent.append(payload)
        ping(protocol, payload)

    monkeypatch.setattr(pod_streams, "WebSocket", partial(websocket.WebSocket, silence=0.1))
    monkeypatch.setattr(ClientProtocol, "send_ping", noted)
    client = Client(kubeconfig=str(command_line.kubeconfig), namespace=command_line.namespace)
    found = client.execute("lab", ["sh", "-c", "sleep 2; echo still here"])
    assert found.stdout == "still here\n"
    assert len(sent) > 5


def test_a_pod_that_is_killed_ends_the_session_with_words(
    command_line: CommandLine, lab: DevServer
) -> None:
    # It ends with its pod and not before.
    stays = "trap '' TERM HUP; echo in; while :; do sleep 1; done"
    session = command_line.start("ssh", "lab", "--replica", "1", "--", stays)
    assert session.stdout
    assert session.stdout.readline() == b"in\n"
    killed = lab.kill(1)
    _, said = session.communicate(timeout=30)
    assert session.returncode == 255
    assert b"error: the session has ended: " in said
    assert b"pod `lab-1`" in said
    assert b"`devctl ssh lab` connects again" in said
    lab.wait_for_successor(1, killed)
