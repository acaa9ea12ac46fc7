from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from unit.devserver_files.conftest import Container

STAT = (
    "{pid} (py (th)) R 1 1 1 0 -1 4194560 1 0 0 0 1000 500 0 0 20 0 1 0 5 2834432 512 1844674407\n"
)


@pytest.fixture
def kernel(container: Container) -> Path:
    """A machine's numbers, with cgroup version 2."""
    root = container.root
    (root / "proc/uptime").write_text("1000.50 4000.00\n")
    (root / "proc/meminfo").write_text("MemTotal: 8388608 kB\n")
    (root / "proc/cpuinfo").write_text("processor : 0\nmodel : x\nprocessor : 1\n")
    for pid, words in ((1, "sleep\0infinity\0"), (42, "python\0train.py\0a\nb\0")):
        (root / f"proc/{pid}").mkdir()
        (root / f"proc/{pid}/stat").write_text(STAT.format(pid=pid))
        (root / f"proc/{pid}/cmdline").write_text(words)
    (root / "cgroup").mkdir()
    (root / "cgroup/cpu.stat").write_text("usage_usec 2500000\n")
    (root / "cgroup/memory.current").write_text("3145728\n")
    return root


def parts(container: Container, env: dict[str, str] | None = None) -> dict[str, str]:
    """What stands behind each head, by the head without the folder of the test."""
    more = {"/sys/fs/cgroup": f"{container.root}/sys/fs/cgroup"}
    (container.root / "sys/fs").mkdir(parents=True, exist_ok=True)
    if (container.root / "cgroup").exists():
        (container.root / "cgroup").rename(container.root / "sys/fs/cgroup")
    status, out, err = container.run("usage", env=env, more=more)
    assert (status, err) == (0, "")
    out = out.replace(str(container.root), "")
    pieces = re.split(r"^==> (.*) <==\n", out, flags=re.MULTILINE)
    return dict(zip(pieces[1::2], (piece.strip("\n") for piece in pieces[2::2]), strict=True))


@pytest.mark.usefixtures("kernel")
def test_the_kernels_numbers_are_there_as_they_are(container: Container) -> None:
    found = parts(container)

    assert found["/proc/uptime"] == "1000.50 4000.00"
    assert found["/sys/fs/cgroup/cpu.stat"] == "usage_usec 2500000"
    assert found["/sys/fs/cgroup/memory.current"] == "3145728"
    assert found["/proc/42/stat"].startswith("42 (py (th)) R 1 ")
    assert found["cpus"] == "2"
    assert found["self"].isdecimal()
    assert len(found["df"].splitlines()) == 2
    assert "/sys/fs/cgroup/cpuacct/cpuacct.usage" not in found


@pytest.mark.usefixtures("kernel")
def test_a_command_line_is_text_and_no_longer_than_anybody_reads(container: Container) -> None:
    (container.root / "proc/42/cmdline").write_text("x\0" * 5000)

    found = parts(container)

    assert found["/proc/1/cmdline"] == "sleep infinity "
    assert found["/proc/42/cmdline"] == "x " * 100


@pytest.mark.parametrize("head", ["self", "df", "gpus", "/proc/1/stat", "{root}/proc/1/cmdline"])
@pytest.mark.usefixtures("kernel")
def test_no_process_fakes_a_head(container: Container, head: str) -> None:
    fake = f"\n\n==> {head.format(root=container.root)} <==\nfaked\n"
    (container.root / "proc/42/cmdline").write_text(f"a\0b{fake}")
    name = STAT.format(pid=42).replace("py (th)", f"x{fake}y")
    (container.root / "proc/42/stat").write_text(name)

    found = parts(container)

    assert found["/proc/1/cmdline"] == "sleep infinity "
    assert "faked" in found["/proc/42/cmdline"]
    assert "faked" in found["/proc/42/stat"]
    whole = {"/proc/42/cmdline", "/proc/42/stat"}
    assert not [part for part in found if "faked" in found[part] and part not in whole]
    assert list((container.root / "run/devctl").iterdir()) == []


def test_a_machine_that_tells_nothing_is_no_error(container: Container) -> None:
    found = parts(container)
    assert found["self"].isdecimal()
    assert not [name for name in found if name.startswith("/")]


@pytest.mark.usefixtures("kernel")
def test_gpus_are_there_where_the_driver_is(container: Container) -> None:
    assert "gpus" not in parts(container)
    env = container.program_on_path(
        "nvidia-smi", 'echo "0, 30, 1024, 8192, Tesla T4"; echo "$*" >&2'
    )
    assert parts(container, env)["gpus"] == "0, 30, 1024, 8192, Tesla T4"


@pytest.mark.usefixtures("kernel")
def test_a_driver_in_trouble_does_not_hold_it_up(container: Container) -> None:
    env = container.program_on_path("nvidia-smi", "exec sleep 20")
    env = container.program_on_path("timeout", f'[ "$1" = 5 ] && shift && exit 124 # {env}')
    assert parts(container, env)["gpus"] == ""
