from __future__ import annotations

import re
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from devctl.errors import HostError
from devctl.local import machine
from devctl.local.machine import available_memory, check_caller, check_host

if TYPE_CHECKING:
    from collections.abc import Callable

GIB = 1024**3


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


@pytest.fixture
def machine_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[float, float], None]:
    """Gives this machine so many GiB of memory and disk."""

    def give(memory: float, disk: float) -> None:
        monkeypatch.setattr(machine, "available_memory", lambda: int(memory * GIB))
        usage = SimpleNamespace(free=int(disk * GIB))
        monkeypatch.setattr(shutil, "disk_usage", lambda _folder: usage)

    return give


def test_enough_room_is_enough(machine_of: Callable[[float, float], None]) -> None:
    machine_of(6, 18)
    check_host(2, cached=False)


@pytest.mark.parametrize(
    ("memory", "disk", "message"),
    [
        (1.5, 100, r"^1\.5 GiB of memory are available, 6 are needed$"),
        (64, 2.25, r"^2\.2 GiB are free under `/.*`, 18 are needed$"),
    ],
)
def test_a_small_machine_is_refused_with_both_figures(
    machine_of: Callable[[float, float], None], memory: float, disk: float, message: str
) -> None:
    machine_of(memory, disk)
    with pytest.raises(HostError, match=message) as raised:
        check_host(2, cached=False)
    assert raised.value.fix


@pytest.mark.parametrize(("nodes", "cached"), [(3, True), (2, False)])
def test_more_nodes_and_an_empty_cache_need_more(
    machine_of: Callable[[float, float], None], nodes: int, *, cached: bool
) -> None:
    for memory, disk, said in [(4, 100, "of memory are available"), (100, 6, "are free under")]:
        machine_of(memory, disk)
        check_host(2, cached=True)
        with pytest.raises(HostError, match=said):
            check_host(nodes, cached=cached)


def test_meminfo_is_read_in_bytes() -> None:
    (line,) = re.findall(r"MemTotal: +(\d+) kB", Path("/proc/meminfo").read_text())
    assert 0 < available_memory() <= int(line) * 1024
