from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from unit.devserver_files.conftest import FILES

if TYPE_CHECKING:
    from pathlib import Path

    from unit.devserver_files.conftest import Container

SERVER = {
    "NNODES": "2",
    "NODE_RANK": "1",
    "LOCAL_WORLD_SIZE": "4",
    "MASTER_ADDR": "ada-0.ada",
    "MASTER_PORT": "29500",
    "RANK": "1",
    "WORLD_SIZE": "8",
    "LOCAL_RANK": "3",
}


def test_torchrun_gets_the_servers_settings_and_no_rank_of_its_own(container: Container) -> None:
    env = container.program_on_path(
        "torchrun", 'printf "%s\\n" "$@" "${RANK-}${WORLD_SIZE-}${LOCAL_RANK-}"'
    )

    status, out, err = container.run(
        "torchrun-here", "train.py", "--name", "a b", env={**env, **SERVER}
    )

    assert (status, err) == (0, "")
    assert out.splitlines() == [
        *("--nnodes", "2", "--node-rank", "1", "--nproc-per-node", "4"),
        *("--rdzv-backend", "static", "--master-addr", "ada-0.ada", "--master-port", "29500"),
        *("train.py", "--name", "a b", ""),
    ]


@pytest.mark.parametrize(
    ("rank", "address", "host"), [("0", "ada-0.ada", "1"), ("11", "~00000011", "0")]
)
def test_ranks_that_start_again_do_so_together_and_keep_their_numbers(
    rank: str, address: str, host: str, container: Container
) -> None:
    words = 'printf "%s\\n" "$@" "$TORCH_DISABLE_SHARE_RDZV_TCP_STORE"'
    env = container.program_on_path("torchrun", words) | SERVER | {"NODE_RANK": rank}

    status, out, err = container.run("torchrun-here", "--max-restarts", "2", "train.py", env=env)

    assert (status, err) == (0, "")
    assert out.splitlines() == [
        *("--nnodes", "2", "--nproc-per-node", "4", "--local-addr", address),
        *("--rdzv-backend", "c10d", "--rdzv-endpoint", "ada-0.ada:29500", "--rdzv-id", "devctl"),
        *("--rdzv-conf", f"is_host={host}", "--max-restarts", "2", "train.py", "1"),
    ]


@pytest.mark.parametrize("before", ["", "/usr/bin/env -i "])
def test_the_python_of_torchrun_starts_what_passes_codes_on(
    before: str, container: Container
) -> None:
    env = container.program_on_path("python3", 'printf "%s\\n" "$@"') | SERVER
    python = container.root / "programs/python3"
    torchrun = container.root / "programs/torchrun"
    torchrun.write_text(f"#!{before}{python}\n")
    torchrun.chmod(0o755)

    status, out, err = container.run("torchrun-here", "--max-restarts", "2", "train.py", env=env)

    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[:3] == ["/opt/devctl/torchrun-launch.py", "--nnodes", "2"]
    assert lines[-3:] == ["--max-restarts", "2", "train.py"]


ERRORS = """
class ChildFailedError(Exception):
    def get_first_failure(self):
        return 0, type("Failure", (), {"exitcode": int(str(self))})
"""
RUN = """
import os, sys
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
def main():
    if "OWN" in os.environ:
        raise ChildFailedError(os.environ["OWN"])
    sys.exit(int(os.environ["ITS"]))
"""


@pytest.mark.parametrize(
    ("env", "code"),
    [
        ({"OWN": "3"}, 3),
        ({"OWN": "-9"}, 137),
        ({"OWN": "0"}, 1),
        ({"ITS": "2"}, 2),
        ({"ITS": "0"}, 0),
    ],
)
def test_the_code_is_that_of_the_process_that_failed(
    env: dict[str, str], code: int, tmp_path: Path
) -> None:
    for name, text in (
        ("torch/distributed/run.py", RUN),
        ("torch/distributed/elastic/multiprocessing/errors/__init__.py", ERRORS),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    done = subprocess.run(
        [sys.executable, FILES / "torchrun-launch.py"],
        env={"PYTHONPATH": str(tmp_path)} | env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.strip() == env.get("OWN", "")


def test_an_image_without_torchrun_is_told(container: Container) -> None:
    status, _, message = container.run("torchrun-here", "train.py", env=SERVER)

    assert status == 127
    first, second = message.splitlines()
    assert first == "error: this image has no torchrun"
    assert second.startswith("  fix: ")
