"""What a hostile pod may put in place of the files that the agent reads."""

from __future__ import annotations

import json
import math
import os
import stat
import subprocess
from typing import TYPE_CHECKING

import pytest
from devctl_node_agent import gpus, jupyter
from devctl_node_agent.files import folder_of_pod, read_file_of_pod, read_kernel_file
from devctl_node_agent.gpus import Devices, Gpus
from devctl_node_agent.jupyter import Jupyter
from devctl_node_agent.terminals import input_times, last_command
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from pathlib import Path

NOW = 1000.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "root/run/devctl/jupyter"
    folder.mkdir(parents=True)
    return folder


def root(folder: Path) -> str:
    return str(folder.parent.parent.parent)


def write(folder: Path, name: str = "7.json", **report: object) -> None:
    (folder / name).write_text(json.dumps({"at": NOW - 3, **report}))


def kernel(state: str, name: str = "a", active: float = NOW - 50) -> dict[str, object]:
    return {"id": name, "name": "python3", "state": state, "active": active}


def test_without_jupyter_there_is_nothing(tmp_path: Path) -> None:
    assert jupyter.read(str(tmp_path), NOW) is None
    assert jupyter.read(str(tmp_path / "gone"), NOW) is None


def test_idle_and_busy_kernels_are_told_apart(folder: Path) -> None:
    write(folder, kernels=[kernel("idle"), kernel("busy", "b", NOW - 70)])
    write(folder, "8.json", kernels=[kernel("starting", "c")], terminals=[{"active": NOW - 20}])
    found = jupyter.read(root(folder), NOW)
    assert found == Jupyter(frozenset({"a"}), ("python3", "python3"), NOW - 20)


def test_a_server_that_was_killed_counts_as_none(folder: Path) -> None:
    write(folder, at=NOW - 60, kernels=[kernel("idle")])
    assert jupyter.read(root(folder), NOW) is None


def test_nobody_is_active_in_the_future(folder: Path) -> None:
    write(folder, kernels=[kernel("idle", active=NOW + 1e9)])
    found = jupyter.read(root(folder), NOW)
    assert found
    assert found.last == NOW


def test_other_files_are_ignored(folder: Path) -> None:
    (folder / "7.new").write_text("{")
    (folder / "x.json").write_text("{")
    assert jupyter.read(root(folder), NOW) is None


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '"x"',
        "{}",
        '{"at": "now"}',
        '{"at": NaN}',
        '{"at": 1e999}',
        '{"at": ' + "9" * 4000 + "}",
        '{"at": ' + "9" * 9000 + "}",
        '{"at": 999, "kernels": {}}',
        '{"at": 999, "kernels": [1]}',
        '{"at": 999, "kernels": [{"state": "idle"}]}',
        '{"at": 999, "kernels": [' + '{"active": 1},' * 300 + '{"active": 1}]}',
        "[" * 60000,
        "x" * 70000,
    ],
    ids=lambda content: content[:30],
)
def test_what_makes_no_sense_is_unknown(folder: Path, content: str) -> None:
    (folder / "7.json").write_text(content)
    found = jupyter.read(root(folder), NOW)
    assert found
    assert found.problem
    assert not found.idle_kernels


def test_links_lead_nowhere(folder: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(json.dumps({"at": NOW, "kernels": [kernel("idle", "stolen")]}))
    (folder / "7.json").symlink_to(secret)
    found = jupyter.read(root(folder), NOW)
    assert found
    assert found.problem
    assert not found.idle_kernels

    (folder / "7.json").unlink()
    folder.rmdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "7.json").write_text(secret.read_text())
    folder.symlink_to(elsewhere)
    found = jupyter.read(root(folder), NOW)
    assert found
    assert found.problem


def test_neither_pipes_nor_folders_nor_devices_hold_the_agent_up(folder: Path) -> None:
    os.mkfifo(folder / "7.json")
    (folder / "8.json").mkdir()
    found = jupyter.read(root(folder), NOW)
    assert found
    assert "not a regular file" in found.problem


def test_a_socket_is_no_file(folder: Path) -> None:
    os.mknod(folder / "7.json", stat.S_IFSOCK | 0o644)
    found = jupyter.read(root(folder), NOW)
    assert found
    assert found.problem


def test_the_number_of_files_is_bounded(folder: Path) -> None:
    for number in range(40):
        write(folder, f"{number}.json")
    found = jupyter.read(root(folder), NOW)
    assert found
    assert "too many files" in found.problem


def test_a_file_in_place_of_a_folder_is_a_problem(folder: Path) -> None:
    folder.rmdir()
    folder.write_text("x")
    found = jupyter.read(root(folder), NOW)
    assert found
    assert found.problem


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["at", "kernels", "terminals", "id", "state", "active", "name", "x"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(JSON)
def test_any_json_is_a_state_or_a_value_error(value: object) -> None:
    try:
        found = jupyter.parse(json.dumps(value).encode(), NOW)
    except ValueError:
        return
    assert found is None or (found.last <= NOW and not math.isnan(found.last))


@given(st.binary(max_size=200))
def test_bytes_that_are_no_object_are_a_value_error_that_says_why(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        jupyter.parse(b"[" + data, NOW)


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner/file").write_text("12345")
    with folder_of_pod(str(tmp_path), "inner") as folder:
        assert read_file_of_pod(folder, "file", 5) == b"12345"
        with pytest.raises(ValueError, match="larger than 4 bytes"):
            read_file_of_pod(folder, "file", 4)
        with pytest.raises(FileNotFoundError):
            read_file_of_pod(folder, "gone", 4)


def test_kernel_files_are_read_up_to_a_limit(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 100_000)
    assert read_kernel_file(str(tmp_path / "file"), 70_000) == b"x" * 70_000
    assert read_kernel_file(str(tmp_path / "gone")) is None
    assert read_kernel_file(str(tmp_path)) is None


def test_input_times_are_those_of_the_terminals(tmp_path: Path) -> None:
    pts = tmp_path / "dev/pts"
    pts.mkdir(parents=True)
    (pts / "3").touch()
    os.utime(pts / "3", ns=(5, 7))
    assert input_times(str(tmp_path), {3, 4}) == {3: 5}
    assert input_times(str(tmp_path / "gone"), {3}) is None
    assert input_times(str(tmp_path / "gone"), set()) == {}
    pts.rename(tmp_path / "elsewhere")
    pts.symlink_to(tmp_path / "elsewhere")
    assert input_times(str(tmp_path), {3}) is None


def test_a_container_with_gpus_is_recognised(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/nvidiactl").touch()
    assert gpus.devices(str(tmp_path), b"A=1\0") == Devices(real=False, simulated=False)
    assert gpus.devices(str(tmp_path), b"A=1\0DEVCTL_FAKE_GPUS=fake-gpu-0\0").simulated
    (tmp_path / "dev/nvidia0").touch()
    assert gpus.devices(str(tmp_path), b"").real
    assert not gpus.devices(str(tmp_path / "gone"), b"").real


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("35\n", Gpus(load=35)),
        ("0", Gpus()),
        ("101", Gpus(problem="fake-gpu-utilization is not a percentage")),
        ("many", Gpus(problem="fake-gpu-utilization is not a percentage")),
        ("1" * 100, Gpus(problem="fake-gpu-utilization: larger than 64 bytes")),
    ],
)
def test_simulated_gpus_have_the_load_that_the_pod_says(
    folder: Path, text: str, found: Gpus
) -> None:
    assert gpus.simulated(root(folder)) == Gpus()
    (folder.parent / "fake-gpu-utilization").write_text(text)
    assert gpus.simulated(root(folder)) == found


def test_without_the_tool_whoever_has_a_gpu_open_uses_it(tmp_path: Path) -> None:
    for pid, target in ((7, "/dev/nvidia0"), (8, "/dev/nvidiactl"), (9, "/dev/null")):
        (tmp_path / f"{pid}/fd").mkdir(parents=True)
        (tmp_path / f"{pid}/fd/3").symlink_to(target)
    assert gpus.held(str(tmp_path), [7, 8, 9, 10]) == Gpus((7,))
    (tmp_path / "11").mkdir()
    (tmp_path / "11/fd").touch()
    assert gpus.held(str(tmp_path), [11]).problem
    tool = gpus.Tool(lambda: 0.0, None)
    assert tool.look(str(tmp_path), [7, 8]) == Gpus((7,))


def test_a_gpu_without_load_is_idle_whoever_holds_it() -> None:
    held = "7, GPU-a\n8, GPU-b\n9, GPU-c\n10, GPU-gone\n[N/A], x\n"
    load = gpus.parse_load(held, "GPU-a, 0\nGPU-b, 12\nGPU-c, [N/A]")
    assert gpus.used(load, [7, 8, 9, 10, 11]) == Gpus((8, 9, 10))


@given(st.text(max_size=100), st.text(max_size=100))
def test_no_line_of_the_tool_hides_another(processes: str, utilization: str) -> None:
    held, none = f"{processes}\n77, GPU-a\n", Gpus()
    for load, found in (("GPU-a, 50", Gpus((77,))), ("GPU-a, 0", none), ("", Gpus((77,)))):
        said = gpus.parse_load(held, f"{utilization}\n{load}")
        assert gpus.used(said, [77]) == found
    assert gpus.used(gpus.parse_load("", utilization), [77]) == none


def test_the_tool_is_asked_rarely(tmp_path: Path) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(
        f'#!/bin/sh\necho "$1" >>{tmp_path}/asked\n'
        'case $1 in *apps*) echo "7, GPU-a" ;; *) echo "GPU-a, 50" ;; esac\n'
    )
    program.chmod(0o755)
    times = iter([100.0, 100.0, 110.0, 140.0, 140.0])
    tool = gpus.Tool(lambda: next(times), str(program))
    assert tool.look("/none", [7]) == Gpus((7,))
    assert tool.look("/none", [8]) == Gpus()
    assert len((tmp_path / "asked").read_text().splitlines()) == 2
    program.write_text("#!/bin/sh\nexit 9\n")
    assert tool.look("/none", [7]) == Gpus(problem="nvidia-smi: CalledProcessError")


def test_the_last_command_is_the_time_of_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "run/devctl"
    folder.mkdir(parents=True)
    assert last_command(str(tmp_path)) == 0
    used = folder / "used"
    used.touch()
    os.utime(used, ns=(5, 7))
    assert last_command(str(tmp_path)) == 7
    # As the scripts touch it, in any shell and without `touch`.
    subprocess.run(["sh", "-c", 'true 2>/dev/null >"$1"', "sh", str(used)], check=True)
    assert (last_command(str(tmp_path)) or 0) > 7
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    assert last_command(str(tmp_path)) is None
