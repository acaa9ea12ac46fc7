from __future__ import annotations

import os
import subprocess
from types import SimpleNamespace
from typing import TYPE_CHECKING
from xmlrpc.client import Fault

import pytest

from devctl.local.supervisor import ProcessState, processes, running_pid, stop
from unit.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from devctl.local.paths import ClusterPaths


@pytest.fixture
def supervisor(paths: ClusterPaths) -> Iterator[subprocess.Popen[bytes]]:
    """A program that looks like the cluster's supervisor; it ends with its standard input."""
    paths.run.mkdir(parents=True)
    with subprocess.Popen(
        ["sh", "-c", "echo; read line", "--configuration", paths.supervisor_config],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        # Until then /proc may still show what was there before it.
        assert process.stdout is not None
        process.stdout.readline()
        paths.supervisor_pid.write_text(f"{process.pid}\n")
        yield process
        process.kill()


def test_a_living_supervisor_is_found(
    paths: ClusterPaths, supervisor: subprocess.Popen[bytes]
) -> None:
    assert running_pid(paths) == supervisor.pid


def test_a_dead_one_leaves_a_stale_file(
    paths: ClusterPaths, supervisor: subprocess.Popen[bytes]
) -> None:
    supervisor.kill()
    supervisor.wait(PATIENCE)
    assert paths.supervisor_pid.exists()
    assert running_pid(paths) is None


@pytest.mark.parametrize(
    "text", ["", "many\n", "-1\n", pytest.param(str(os.getpid()), id="the-tests")]
)
def test_a_file_that_names_no_supervisor_counts_for_nothing(paths: ClusterPaths, text: str) -> None:
    paths.run.mkdir(parents=True)
    paths.supervisor_pid.write_text(text)
    assert running_pid(paths) is None


def test_a_cluster_that_never_ran_has_no_processes(paths: ClusterPaths) -> None:
    assert running_pid(paths) is None
    assert processes(paths) == []
    stop(paths)


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Lets the supervisor's API answer without a socket."""

    def set_answer(get_all_process_info: Callable[[], object]) -> None:
        api = SimpleNamespace(getAllProcessInfo=get_all_process_info)
        proxy = SimpleNamespace(supervisor=api)
        monkeypatch.setattr("devctl.local.supervisor.ServerProxy", lambda *_, **__: proxy)

    return set_answer


@pytest.mark.usefixtures("supervisor")
@pytest.mark.parametrize("error", [ConnectionRefusedError(), Fault(6, "SHUTDOWN_STATE")])
def test_a_supervisor_that_does_not_answer_has_no_processes(
    paths: ClusterPaths, answer: Callable[[Callable[[], object]], None], error: Exception
) -> None:
    def refuse() -> None:
        raise error

    answer(refuse)
    assert processes(paths) == []


@pytest.mark.usefixtures("supervisor")
def test_what_the_supervisor_says_is_told(
    paths: ClusterPaths, answer: Callable[[Callable[[], object]], None]
) -> None:
    common = {"start": 100, "now": 160, "stdout_logfile": "/logs/it.log"}
    answer(
        lambda: [
            {"name": "kubelet", "statename": "RUNNING", "pid": 11, **common},
            {"name": "containerd", "statename": "FATAL", "pid": 0, **common},
        ]
    )
    assert processes(paths) == [
        ProcessState("kubelet", "RUNNING", 11, 60, "/logs/it.log"),
        ProcessState("containerd", "FATAL", 0, 0, "/logs/it.log"),
    ]


def test_stop_ends_it(paths: ClusterPaths, supervisor: subprocess.Popen[bytes]) -> None:
    stop(paths, seconds=PATIENCE)
    assert supervisor.wait(PATIENCE) != 0
    assert running_pid(paths) is None
