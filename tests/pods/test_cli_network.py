"""Streams of real pods where the way leads through a proxy, or is slow and loses packets."""

from __future__ import annotations

import json
import os
import re
import signal
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx2
import pytest
import yaml
from support.proxies import forward_proxy
from support.servers import wait_until
from support.slow_link import slow_link

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.command_line import CommandLine
    from support.servers import DevServer

BYTES = os.urandom(4 << 20)
SCRIPT = "import os\nprint('rank', os.environ['RANK'], flush=True)\n"


def changed(user: CommandLine, folder: Path, **cluster: Any) -> CommandLine:
    """The same user with a kubeconfig that says more of the cluster."""
    config = yaml.safe_load(user.kubeconfig.read_text())
    about = {name.replace("_", "-"): value for name, value in cluster.items()}
    config["clusters"][0]["cluster"] |= about
    file = folder / "kubeconfig"
    file.write_text(json.dumps(config))
    return replace(user, kubeconfig=file)


@pytest.fixture(params=["http", "socks5", "slow"])
def away(
    request: pytest.FixtureRequest, command_line: CommandLine, tmp_path: Path
) -> Iterator[CommandLine]:
    """The user behind each kind of way."""
    if request.param == "slow":
        config = yaml.safe_load(command_line.kubeconfig.read_text())
        server = urlsplit(config["clusters"][0]["cluster"]["server"])
        with slow_link(str(server.hostname), int(server.port or 443)) as link:
            near = f"https://127.0.0.1:{link.port}"
            there = changed(command_line, tmp_path, server=near, tls_server_name=server.hostname)
            yield there
            assert link.connections
        return
    with forward_proxy(request.param, tmp_path) as proxy:
        yield changed(command_line, tmp_path, proxy_url=proxy.address)
        assert proxy.connections()


def test_exec_and_ssh(away: CommandLine) -> None:
    assert away("exec", "-i", "lab", "--", "cat", stdin=BYTES, timeout=300).stdout == BYTES
    assert away("exec", "lab", "--", "sh", "-c", "exit 7").returncode == 7
    assert away.must("ssh", "lab", "--", "hostname").strip() == "lab-0"
    assert away("ssh", "lab", "--", "exit 7").returncode == 7


def test_run_shows_every_rank(away: CommandLine, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "ranks.py").write_text(SCRIPT)
    said = away.must("run", "lab", str(project / "ranks.py"), timeout=300)
    assert "rank 0" in said
    assert "rank 1" in said


def test_files_go_there_and_come_back(away: CommandLine, lab: DevServer, tmp_path: Path) -> None:
    large, back = tmp_path / "large", tmp_path / "back"
    large.write_bytes(BYTES)
    try:
        away.must("cp", str(large), "lab:far", timeout=300)
        away.must("cp", "lab:far", str(back), timeout=300)
    finally:
        lab.run("rm -f far")
    assert back.read_bytes() == BYTES


def test_a_port(command_line: CommandLine, away: CommandLine, lab: DevServer) -> None:
    page = (
        "import http.server as h; h.test(h.SimpleHTTPRequestHandler, port=8767, bind='127.0.0.1')"
    )
    serving = command_line.start("exec", "lab", "--", "python", "-c", page)
    listens = "grep -q ':223F 00000000:0000 0A' /proc/net/tcp && echo yes || true"
    wait_until(lambda: lab.run(listens) == "yes", "it listens")
    running = away.start("port-forward", "lab", ":8767")
    assert running.stdout
    shown = re.fullmatch(r"127\.0\.0\.1:(\d+) -> lab-0:8767\n", running.stdout.readline().decode())
    assert shown
    assert "Directory listing" in httpx2.get(f"http://127.0.0.1:{shown[1]}/", timeout=60).text
    for each in (running, serving):
        each.send_signal(signal.SIGINT)
        each.communicate(timeout=30)
    lab.run("pkill -f [S]impleHTTP || true")
