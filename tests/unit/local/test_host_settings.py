from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from devctl.local.machine import raise_settings, restore_settings

if TYPE_CHECKING:
    from pathlib import Path

BEFORE = {
    "net/ipv4/ip_forward": "0",
    "fs/inotify/max_user_instances": "128",
    "fs/inotify/max_user_watches": "1048576",
    "vm/overcommit_memory": "0",
    "kernel/panic": "0",
}
RAISED = {**BEFORE, "net/ipv4/ip_forward": "1", "fs/inotify/max_user_instances": "8192"}


@pytest.fixture
def proc_sys(tmp_path: Path) -> Path:
    folder = tmp_path / "proc-sys"
    for name, value in BEFORE.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{value}\n")
    return folder


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return tmp_path / "state" / "host-settings.json"


def values(proc_sys: Path) -> dict[str, str]:
    return {name: (proc_sys / name).read_text().strip() for name in BEFORE}


def test_only_what_is_too_low_is_raised(saved: Path, proc_sys: Path) -> None:
    assert raise_settings(saved, proc_sys)
    assert values(proc_sys) == RAISED


def test_a_second_time_changes_nothing(saved: Path, proc_sys: Path) -> None:
    raise_settings(saved, proc_sys)
    written = saved.read_text()
    assert not raise_settings(saved, proc_sys)
    assert (values(proc_sys), saved.read_text()) == (RAISED, written)


def test_restore_puts_back_the_first_state_and_what_the_kubelet_changed(
    saved: Path, proc_sys: Path
) -> None:
    raise_settings(saved, proc_sys)
    (proc_sys / "vm/overcommit_memory").write_text("1\n")
    (proc_sys / "kernel/panic").write_text("10\n")
    # A second cluster comes up: what it finds is not what the host had.
    raise_settings(saved, proc_sys)
    restore_settings(saved, proc_sys)
    assert values(proc_sys) == BEFORE
    assert not saved.exists()


def test_restore_without_anything_saved_touches_nothing(saved: Path, proc_sys: Path) -> None:
    (proc_sys / "kernel/panic").write_text("10\n")
    restore_settings(saved, proc_sys)
    assert values(proc_sys) == {**BEFORE, "kernel/panic": "10"}


def test_a_setting_that_this_kernel_lacks_is_left_out(saved: Path, proc_sys: Path) -> None:
    (proc_sys / "fs/inotify/max_user_instances").unlink()
    assert raise_settings(saved, proc_sys)
    restore_settings(saved, proc_sys)
    assert not (proc_sys / "fs/inotify/max_user_instances").exists()
