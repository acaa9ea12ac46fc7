from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
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


def test_an_image_without_torchrun_is_told(container: Container) -> None:
    status, _, message = container.run("torchrun-here", "train.py", env=SERVER)

    assert status == 127
    first, second = message.splitlines()
    assert first == "error: this image has no torchrun"
    assert second.startswith("  fix: ")
