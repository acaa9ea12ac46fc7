"""What the two ranks of a real server use."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

import pexpect
from support.servers import wait_until

if TYPE_CHECKING:
    from support.command_line import CommandLine
    from support.servers import DevServer

BUSY = "exec -a busy-one sh -c 'while :; do :; done'"


def test_numbers_of_each_replica(lab: DevServer, command_line: CommandLine) -> None:
    lab.run(f'nohup bash -c "{BUSY}" >/dev/null 2>&1 &')
    try:
        wait_until(lambda: "busy-one" in lab.run("cat /proc/[0-9]*/cmdline"), "it is busy")
        found = json.loads(command_line.must("monitor", "lab", "--once", "-o", "json"))
        screen = command_line.terminal("monitor", "lab", columns=100)
        screen.expect(r"lab-1 +\d[.\d]* of \d+ ")
        screen.expect(r"lab-0 +\d+ +(0\.\d+|1) +\S+ +busy-one")
        screen.sendintr()
        screen.expect(pexpect.EOF)
        screen.close()
    finally:
        lab.run("pkill -f [b]usy-one || true")
    assert screen.exitstatus == 130
    assert found["server"] == "lab"
    first, second = found["replicas"]
    assert (first["pod"], second["pod"]) == ("lab-0", "lab-1")
    (busy,) = (each for each in first["processes"] if each["command"].startswith("busy-one"))
    # How much it gets is for the machine to say: more than what does nothing. None is said of a
    # process that the first look did not see.
    assert busy["cpu"] == max(each["cpu"] or 0 for each in first["processes"]) > 0
    assert first["cpu"]["used"] > second["cpu"]["used"]
    for each in (first, second):
        # The flavor's limit, and what the kernel counts.
        assert 0 < each["memory"]["used"] < each["memory"]["limit"] == 2 << 30
        assert 0 < each["home"]["used"] <= each["home"]["size"]
        assert each["gpus"] == []


def test_off_a_terminal_it_goes_on_without_drawing(command_line: CommandLine) -> None:
    running = command_line.start("monitor", "lab", "--interval", "1s")
    assert running.stdout
    looks = (line for line in iter(running.stdout.readline, b"") if line.startswith(b"POD "))
    assert [b"MEMORY  " in next(looks) for _ in range(2)] == [True] * 2
    running.send_signal(signal.SIGINT)
    assert running.wait(timeout=20) == 130
    assert b"\x1b" not in running.stdout.read()


def test_all_servers_at_a_glance(lab: DevServer, command_line: CommandLine) -> None:
    found = json.loads(command_line.must("top", "-o", "json"))["items"]
    (mine,) = (each for each in found if each["name"] == lab.name)
    # Two replicas with the flavor's limit, and what the kernel counts.
    assert 0 < mine["memory"]["used"] < mine["memory"]["limit"] == 4 << 30
    assert mine["cpu"]["used"] is not None
    assert (mine["phase"], mine["problems"]) == ("Running", [])
    screen = command_line.terminal("top", "--watch", "--interval", "1s", columns=140)
    # A graph of the memory that is used, after some looks.
    screen.expect(r"lab +server +.*Gi \(\d+%\) +[▁▂▃▄▅▆▇█_.~+=*#-]{3}".encode())
    screen.sendintr()
    screen.expect(pexpect.EOF)
    screen.close()
    assert screen.exitstatus == 130
