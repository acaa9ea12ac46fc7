"""SSH without a port: the system's own ssh, scp and rsync through devctl."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from e2e.command_line import CommandLine
    from e2e.servers import DevServer

MEGABYTES = 100
AT_ONCE = 20


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


def test_the_environment_is_the_servers(command_line: CommandLine) -> None:
    assert command_line.must("ssh", "lab", "--", "echo $MASTER_ADDR").strip() == "lab-0.lab"


def test_a_terminal(command_line: CommandLine) -> None:
    shell = command_line.terminal("ssh", "lab")
    shell.expect("[$] ")
    shell.sendline("tty; exit 3")
    shell.expect("/dev/pts/")
    shell.wait()
    assert shell.exitstatus == 3


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


def test_many_sessions_at_once(command_line: CommandLine) -> None:
    def session(number: int) -> str:
        return command_line.must("ssh", "lab", "--", f"sleep 2; echo {number}").strip()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        assert list(pool.map(session, range(AT_ONCE))) == [str(n) for n in range(AT_ONCE)]
