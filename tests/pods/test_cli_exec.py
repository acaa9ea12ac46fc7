"""A command in a server, without SSH."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pexpect
import pytest
from support.command_line import PROGRAM
from support.pipes import stands_still, unread
from support.servers import wait_until

from devctl.local.paths import cache_paths
from devctl.local.status import find_kubectl

if TYPE_CHECKING:
    from support.command_line import CommandLine
    from support.servers import DevServer

# More than all buffers on the way: it has to come back while the rest still goes.
BYTES = os.urandom(24 << 20)
NUMBERS = 2_000_000
COUNTED = b"".join(b"%d\n" % number for number in range(1, NUMBERS + 1))
WRITTEN = "grep wchar /proc/$(pgrep -x seq)/io || true"


def test_bytes_and_the_exit_code_pass_through(command_line: CommandLine) -> None:
    assert command_line("exec", "-i", "lab", "--", "cat", stdin=BYTES).stdout == BYTES
    both = command_line(
        "exec", "lab", "--replica", "1", "--", "sh", "-c", "hostname; pwd >&2; exit 9"
    )
    assert (both.returncode, both.stdout, both.stderr) == (9, b"lab-1\n", b"/home/dev\n")
    assert command_line.must("exec", "lab", "--", "printf", "%s|", "a b", "$HOME", "") == (
        "a b|$HOME||"
    )


def test_a_reader_that_pauses_misses_nothing(command_line: CommandLine, lab: DevServer) -> None:
    # More than all buffers on the way hold: what is in them when the command ends is not lost.
    with command_line.start("exec", "lab", "--", "seq", str(NUMBERS)) as running:
        assert running.stdout
        pipe = running.stdout.fileno()
        # Once it has all been written, there is no program to ask any more.
        wait_until(stands_still(lambda: unread(pipe) and (unread(pipe), lab.run(WRITTEN))), "full")
        printed, said = running.communicate(timeout=60)
    assert (running.returncode, printed == COUNTED, said) == (0, True, b"")


@pytest.mark.parametrize("options", [(), ("-i",)], ids=("silent", "fed"))
def test_whoever_cannot_know_that_all_has_come_is_told(
    command_line: CommandLine, options: tuple[str, ...]
) -> None:
    # What marks the end of the output dies, as it may with the connection.
    script = "echo half; kill -9 $PPID"
    said = command_line.fails(137, "exec", *options, "lab", "--", "sh", "-c", script)
    assert "error: the end of what it has printed did not arrive" in said


def test_kubectl_passes_words_and_bytes_on(command_line: CommandLine) -> None:
    program = find_kubectl(cache_paths())
    assert program
    words = ("devctl", "exec", "lab", "--", "printf", "%s|", "a b", "")
    done = subprocess.run(
        [program, *words], capture_output=True, check=False, env=command_line.variables, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, b"a b||")


def test_a_command_that_is_not_there_is_an_error(command_line: CommandLine) -> None:
    said = command_line("exec", "lab", "--", "no-such-program")
    assert said.returncode not in {0, 130}
    assert b"no-such-program" in said.stderr
    command_line.fails(3, "exec", "lab", "--replica", "7", "--", "id")


def test_on_a_terminal_the_command_has_one_and_afterwards_it_is_as_before(
    command_line: CommandLine,
) -> None:
    script = (
        "from pathlib import Path; import subprocess, sys, termios; a = termios.tcgetattr(0);"
        "code = subprocess.call([sys.argv[1], 'exec', '-it', 'lab', '--', 'bash', '--norc']);"
        "print('same' if termios.tcgetattr(0) == a else 'changed', code)"
    )
    shell = pexpect.spawn(
        sys.executable,
        ["-c", script, str(PROGRAM)],
        env={**command_line.variables, "TERM": "xterm"},
        dimensions=(30, 90),
        timeout=60,
    )
    shell.expect("[$] ")
    shell.sendline("stty size")
    shell.expect("30 90\r\n")
    shell.setwinsize(20, 50)
    shell.sendline("while [ \"$(stty size)\" != '20 50' ]; do sleep 0.1; done; echo resi''zed")
    shell.expect("resized\r\n")
    # The program itself says that it is there: a key that comes while the shell still starts it may
    # be lost.
    shell.sendline("sh -c 'echo be\"\"gun; exec sleep 100'; echo not''ed")
    shell.expect("begun\r\n")
    shell.sendintr()
    shell.expect("[$] ")
    shell.sendline("echo after-$?; exit 4")
    shell.expect("after-130")
    shell.expect("same 4")


def test_a_reader_that_leaves_ends_it(command_line: CommandLine) -> None:
    running = command_line.start("exec", "lab", "--", "yes")
    assert running.stdout
    assert running.stdout.read(4) == b"y\ny\n"
    running.stdout.close()
    assert running.wait(timeout=20) != 0
    # The container's runtime keeps a program whose output nobody takes, as it does with kubectl.
    command_line("exec", "lab", "--", "pkill", "-x", "yes")
