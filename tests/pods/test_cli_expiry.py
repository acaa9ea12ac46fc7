"""Credentials that end during a stream: it goes on, and the next command says to log in."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.servers import wait_until
from support.user_place import account_kubeconfig

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.command_line import CommandLine
    from support.servers import DevServer

ACCOUNT = "leaves"
REFUSED = 5
WAITS = "echo begun; until [ -e /home/dev/gone ]; do sleep 0.1; done; echo ended; exit 7"
LOG_IN = [
    "error: the API server does not accept your credentials: expired, or of another cluster",
    "  fix: log in to the cluster again, or get a new kubeconfig",
]


@pytest.fixture
def leaving(command_line: CommandLine, lab: DevServer, tmp_path: Path) -> Iterator[CommandLine]:
    """Somebody whose token ends with their account."""
    where = ("-n", lab.namespace)
    file = account_kubeconfig(
        lab.kubectl, command_line.kubeconfig, lab.namespace, ACCOUNT, tmp_path
    )
    account = f"--serviceaccount={lab.namespace}:{ACCOUNT}"
    lab.kubectl(*where, "create", "rolebinding", ACCOUNT, "--clusterrole=devctl-user", account)
    yield replace(command_line, kubeconfig=file)
    lab.kubectl(*where, "delete", "rolebinding", ACCOUNT)
    for rank in (0, 1):
        lab.run("rm -f gone", rank)


def test_streams_outlive_the_credentials_that_opened_them(
    leaving: CommandLine, command_line: CommandLine, lab: DevServer
) -> None:
    streams = {
        "exec": leaving.start("exec", "lab", "--", "sh", "-c", WAITS),
        "ssh": leaving.start("ssh", "lab", "--", WAITS),
        "run": leaving.start("run", "--no-sync", "lab", "/bin/sh", "-c", WAITS),
    }
    for name, stream in streams.items():
        assert stream.stdout
        assert b"begun" in stream.stdout.readline(), name
    lab.kubectl("-n", lab.namespace, "delete", "serviceaccount", ACCOUNT)
    # The API server remembers for a few seconds whom it has let in.
    wait_until(lambda: leaving("list").returncode == REFUSED, "they are refused")
    assert leaving.fails(REFUSED, "list").splitlines() == LOG_IN
    for rank in (0, 1):
        lab.run("touch gone", rank)
    said = {name: stream.communicate(timeout=60) for name, stream in streams.items()}
    for name in ("exec", "ssh"):
        assert (streams[name].returncode, said[name][0]) == (7, b"ended\n"), said[name]
    # How a run has ended is asked for anew: it has, and whoever logs in again is told.
    assert streams["run"].returncode == REFUSED
    error, fix = said["run"][1].decode().splitlines()[-2:]
    (attach,) = re.findall(
        r"the run may still be active: `devctl (attach lab .*)` follows it again", fix
    )
    assert [error, fix.partition(";")[0]] == LOG_IN
    shown = command_line(*attach.split())
    assert (shown.returncode, b"[1] ended" in shown.stdout) == (7, True)
