"""What of a server is reached from here: Jupyter, its ports, its folders in an editor."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING

import httpx2
import pytest
from support.servers import wait_until

if TYPE_CHECKING:
    from support.command_line import CommandLine
    from support.servers import DevServer

# Comes first on the PATH of the server, as what its owner installs there does.
BROKEN = """
mkdir -p .local/bin
printf '#!/bin/sh\\nexit 1\\n' >.local/bin/jupyter
chmod +x .local/bin/jupyter
"""


def test_jupyter_shows_a_folder_to_who_has_its_token_until_ctrl_c(
    lab: DevServer, command_line: CommandLine
) -> None:
    lab.run("mkdir -p src && touch src/notes.md")
    running = command_line.start("jupyter", "lab", "src")
    assert running.stdout
    url = running.stdout.readline().decode().strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{32}", url)
    address, _, query = url.partition("/?")
    with httpx2.Client(base_url=address, timeout=30) as stranger:
        assert stranger.get("/api/contents").status_code == 403
        assert stranger.get("/lab").status_code == 302
    with httpx2.Client(base_url=address, timeout=30, follow_redirects=True) as browser:
        assert "<title>JupyterLab</title>" in browser.get(f"/?{query}").raise_for_status().text
        there = browser.get(f"/api/contents?{query}").raise_for_status().json()["content"]
        assert [file["name"] for file in there] == ["notes.md"]
        kernel = browser.post(f"/api/kernels?{query}")
        assert kernel.status_code == 201, kernel.text
    assert url[-32:] not in lab.run("cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
    running.send_signal(signal.SIGINT)
    assert running.wait(timeout=20) == 130
    gone = "! grep -aqE '[S]erverApp.root_dir|[i]pykernel' /proc/[0-9]*/cmdline && echo gone"
    wait_until(lambda: lab.run(f"{gone} || true") == "gone", "Jupyter and its kernel have ended")


def test_a_server_without_jupyter_says_how_to_get_it(
    lab: DevServer, command_line: CommandLine
) -> None:
    lab.run(BROKEN, 1)
    said = command_line.fails(1, "jupyter", "lab", "--replica", "1")
    lab.run("rm .local/bin/jupyter", 1)
    assert said.splitlines()[-2:] == [
        "error: this server has no Jupyter",
        "  fix: install it there: `pip install --user jupyterlab`",
    ]


def test_ports_are_reached_here(lab: DevServer, command_line: CommandLine) -> None:
    page = (
        "import http.server as h; h.test(h.SimpleHTTPRequestHandler, port=8099, bind='127.0.0.1')"
    )
    serving = command_line.start("exec", "lab", "--replica", "1", "--", "python", "-c", page)
    listens = "grep -q ':1FA3 00000000:0000 0A' /proc/net/tcp && echo yes || true"
    wait_until(lambda: lab.run(listens, 1) == "yes", "it listens")
    line = ("port-forward", "lab", "--replica", "1", ":8099", ":8098")
    running = command_line.start(*line)
    assert running.stdout
    found = [running.stdout.readline().decode() for _ in range(2)]
    numbers = [re.fullmatch(r"127\.0\.0\.1:(\d+) -> lab-1:809\d\n", each) for each in found]
    open_, closed = (match[1] for match in numbers if match)
    assert "Directory listing" in httpx2.get(f"http://127.0.0.1:{open_}/").text
    with pytest.raises(httpx2.RemoteProtocolError):
        httpx2.get(f"http://127.0.0.1:{closed}/")
    taken = command_line.fails(1, "port-forward", "lab", f"{open_}:80")
    assert f"port {open_} of this machine" in taken
    for each in (running, serving):
        each.send_signal(signal.SIGINT)
    assert running.wait(timeout=20) == 130
    assert b"8098" in (running.stderr.read() if running.stderr else b"")
    serving.wait(timeout=20)
    lab.run("pkill -f [S]impleHTTP || true", 1)


def test_an_editor_is_opened_once_ssh_knows_the_server(command_line: CommandLine) -> None:
    address = "vscode-remote://ssh-remote+lab.devctl/home/dev/src"
    assert command_line.must("code", "lab", "src", "--print") == f"{address}\n"
    assert "`devctl config-ssh`" in command_line.fails(1, "code", "lab", "--editor", "echo")
    command_line.must("config-ssh", "--yes")
    opened = command_line.must("code", "lab", "src", "--editor", "echo")
    assert opened == f"--folder-uri {address}\n"
    said = command_line.fails(1, "code", "lab", "src", "--editor", "no-such-editor")
    assert f"or open {address}" in said
