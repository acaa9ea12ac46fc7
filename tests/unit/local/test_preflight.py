from __future__ import annotations

from pathlib import Path

import pytest

from devctl.errors import HostError
from devctl.local.machine import Needs, check_caller, check_room, needs, parse_meminfo

GIB = 1024**3
WANTED = Needs(memory=6 * GIB, disk=18 * GIB)


def test_root_on_linux_may_go_on() -> None:
    check_caller("linux", 0)


def test_anybody_else_is_told_to_use_sudo() -> None:
    with pytest.raises(HostError, match="needs root") as raised:
        check_caller("linux", 1000)
    assert "sudo" in raised.value.fix


@pytest.mark.parametrize("uid", [0, 501])
def test_another_system_is_named(uid: int) -> None:
    with pytest.raises(HostError, match="needs Linux, this is darwin"):
        check_caller("darwin", uid)


def test_enough_room_is_enough() -> None:
    check_room(WANTED, WANTED.memory, WANTED.disk, Path("/state"))


@pytest.mark.parametrize(
    ("memory", "disk", "message"),
    [
        (1.5, 100, "1.5 GiB of memory are available, 6 are needed"),
        (64, 2.25, "2.2 GiB are free under `/state`, 18 are needed"),
    ],
)
def test_a_small_machine_is_refused_with_both_figures(
    memory: float, disk: float, message: str
) -> None:
    with pytest.raises(HostError) as raised:
        check_room(WANTED, int(memory * GIB), int(disk * GIB), Path("/state"))
    assert raised.value.message == message
    assert raised.value.fix


def test_more_nodes_and_an_empty_cache_need_more() -> None:
    assert needs(3, cached=True) > needs(2, cached=True)
    for one, other in zip(needs(2, cached=True), needs(2, cached=False), strict=True):
        assert one < other


def test_meminfo_is_read_in_bytes() -> None:
    text = "MemTotal:       24689044 kB\nMemAvailable:   20000000 kB\nHugePages_Total:       0\n"
    assert parse_meminfo(text)["MemAvailable"] == 20_000_000 * 1024
