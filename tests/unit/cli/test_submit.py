"""`devctl submit`: what is created, what is shown, and how it ends."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from devctl.cli.jobs import attend
from devctl.client import waiting
from devctl.client.files.copy import Copied
from devctl.client.workloads.workspace import Workspaces
from unit.client.objects import NAMESPACE, PODS
from unit.client.workload_things import WORKLOADS, attempt_pod, gpu_workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from unit.cli.conftest import Devctl
    from unit.client.fake_cluster import FakeApi, Thing

MAPS, CLAIMS = "configmaps", "persistentvolumeclaims"
KEY = (WORKLOADS, NAMESPACE, "job")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a script, in which somebody works."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "train.py").write_text("print('hello')\n")
    monkeypatch.chdir(root)
    monkeypatch.setenv("DEVCTL_IMAGE", "torch:1")
    monkeypatch.setattr(waiting, "_RETRY", 0.01)
    return root


def becomes(api: FakeApi, phase: str, /, *, of: int = 1, **status: Any) -> Callable[[], None]:
    def change() -> None:
        found = gpu_workload("job", phase, attempt=of, **status)["status"]
        api.things[KEY]["status"] = found

    return change


def runs(api: FakeApi, *steps: Callable[[], object]) -> None:
    """What becomes of a workload as soon as it is followed."""
    api.add(PODS, attempt_pod(1, "one\n", of="job"), attempt_pod(2, "two\n", of="job"))
    api.then = list(steps)


def test_a_script_runs_to_its_end(api: FakeApi, devctl: Devctl) -> None:
    waits: Thing = {"reason": "Scheduling", "message": "node `gpu-1` was chosen"}
    runs(
        api, becomes(api, "Scheduling", **waits), becomes(api, "Running"), becomes(api, "Succeeded")
    )
    words = ("--name", "job", "--gpus", "2", "train.py", "--gpus", "all")
    result = devctl("submit", *words)
    assert (result.code, result.stdout) == (0, "one\n")
    assert "gpuworkload/job created" in result.stderr
    assert "job: Scheduling: node `gpu-1` was chosen" in result.stderr
    spec = api.get(WORKLOADS, "job")["spec"]
    assert (spec["gpuCount"], spec["image"]) == (2, "torch:1")
    assert spec["command"] + spec["args"] == ["python", "-u", "./train.py", "--gpus", "all"]
    assert spec["workspace"] == {
        "mountPath": "/workspace",
        "configMapName": api.names(MAPS)[0],
    }


def test_its_exit_code_is_the_programs(api: FakeApi, devctl: Devctl) -> None:
    failed: Thing = {
        "exitCode": 7,
        "reason": "NonZeroExit",
        "message": "exit code 7 (after 1 retry)",
    }
    steps = becomes(api, "Running"), becomes(api, "Running", of=2)
    runs(api, *steps, becomes(api, "Failed", of=2, **failed))
    result = devctl("submit", "--name", "job", "train.py")
    assert (result.code, result.stdout) == (7, "one\ntwo\n")
    assert "attempt 2:" in result.stderr
    assert "job `job` has failed: NonZeroExit: exit code 7 (after 1 retry)" in result.stderr


def test_one_that_never_ran_has_failed_all_the_same(api: FakeApi, devctl: Devctl) -> None:
    runs(api, becomes(api, "Failed", reason="ConfigError", message="there is no `x`"))
    assert devctl("submit", "--name", "job", "train.py").code == 1


def test_who_detaches_gets_the_name(api: FakeApi, devctl: Devctl) -> None:
    result = devctl("submit", "--detach", "train.py")
    (name,) = api.names(WORKLOADS)
    assert result.stdout == f"{name}\n"
    assert f"`devctl jobs logs -f {name}` follows it" in result.stderr
    assert name.startswith("train-")
    assert devctl("submit", "-d", "-o", "name", "--name", "job", "train.py").stdout == (
        "gpuworkload/job\n"
    )


@pytest.mark.parametrize("words", [("-m", "train"), ("--", "make", "train")])
def test_modules_and_other_commands(words: tuple[str, ...], api: FakeApi, devctl: Devctl) -> None:
    assert devctl("submit", "--detach", "--name", "job", *words).code == 0
    spec = api.get(WORKLOADS, "job")["spec"]
    expected = {"-m": ["python", "-u", "-m", "train"], "--": ["make", "train"]}
    assert spec["command"] + spec["args"] == expected[words[0]]


def test_several_pods(api: FakeApi, devctl: Devctl) -> None:
    many = ("--detach", "--nodes", "2", "--gpus", "4")
    devctl("submit", *many, "--name", "job", "train.py", "--epochs", "3")
    spec = api.get(WORKLOADS, "job")["spec"]
    assert (spec["nodes"], spec["gpuCount"]) == (2, 4)
    assert "torchrun" in spec["args"]
    assert spec["args"][-3:] == ["./train.py", "--epochs", "3"]
    devctl("submit", *many, "--name", "other", "--", "make", "train")
    spec = api.get(WORKLOADS, "other")["spec"]
    assert spec["command"] + spec["args"] == ["make", "train"]


def test_a_dry_run_changes_nothing(api: FakeApi, devctl: Devctl) -> None:
    for dry in ("client", "server"):
        result = devctl("submit", "--dry-run", dry, "-o", "json", "--name", "job", "train.py")
        assert json.loads(result.stdout)["spec"]["modelName"] == "job"
    assert api.names(WORKLOADS) + api.names(MAPS) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--detach", "--pull", "out", "train.py"), "--pull waits for the end"),
        (("-o", "json", "train.py"), "-o needs --detach"),
        (("--pull", "train.py", "train.py"), "is not a folder"),
        (("--nodes", "2", "--volume", "1Gi", "train.py"), "a volume is for one pod"),
        (("--nodes", "2", "--pull", "out", "train.py"), "mount a shared claim"),
        (("--env", "A", "train.py"), "has no value"),
        (("--mount", "x", "train.py"), "is not CLAIM:PATH"),
        (("--name", "A", "train.py"), "cannot be a GPU workload's name"),
        ((), "there is nothing to run"),
    ],
)
def test_what_is_refused_changes_nothing(
    words: tuple[str, ...], said: str, api: FakeApi, devctl: Devctl
) -> None:
    result = devctl("submit", *words)
    assert (result.code, said in result.stderr) == (2, True), result.stderr
    assert api.names(WORKLOADS) + api.names(MAPS) == []


def test_secrets_stay_here(api: FakeApi, devctl: Devctl, project: Path) -> None:
    (project / ".env").write_text("TOKEN=x\n")
    assert "left out, as they look like secrets: `.env`" in (
        devctl("submit", "--detach", "--name", "job", "train.py").stderr
    )
    assert api.names(WORKLOADS) == ["job"]


def test_a_name_that_is_taken(api: FakeApi, devctl: Devctl) -> None:
    api.add(WORKLOADS, gpu_workload("job", "Running"))
    result = devctl("submit", "--name", "job", "train.py")
    assert result.code == 1
    assert "already exists" in result.stderr


def claim() -> Thing:
    labels = {"gpu.warp.dev/gpuworkload": "job"}
    meta = {"name": "workspace-job", "namespace": NAMESPACE, "labels": labels}
    return {"metadata": meta, "spec": {}, "status": {"phase": "Bound"}}


@pytest.fixture
def fetched(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Where results were fetched to."""
    into: list[Path] = []

    def download(_self: Any, _name: str, to: Path, *_: Any, **__: Any) -> Copied:
        into.append(to)
        return Copied(str(to), 1, 10)

    monkeypatch.setattr(Workspaces, "download", download)
    api.add(CLAIMS, claim())
    return into


@pytest.mark.parametrize("ends", ["Succeeded", "Failed"])
def test_results_come_back_and_the_volume_goes(
    ends: str, api: FakeApi, devctl: Devctl, fetched: list[Path]
) -> None:
    runs(api, becomes(api, "Running"), becomes(api, ends))
    result = devctl("submit", "--name", "job", "--pull", "results", "train.py")
    assert fetched == [Path("results")]
    assert result.code == (ends == "Failed")
    assert "results: 1 file" in result.stderr
    spec = api.get(WORKLOADS, "job")["spec"]
    assert spec["workspace"]["size"] == "10Gi"
    assert api.names(CLAIMS) == []
    # Kubernetes keeps a volume as long as a pod names it.
    assert spec["ttlSecondsAfterFinished"] == 0


def test_a_volume_that_was_asked_for_is_kept(
    api: FakeApi, devctl: Devctl, fetched: list[Path]
) -> None:
    runs(api, becomes(api, "Succeeded"))
    devctl("submit", "--name", "job", "--pull", "results", "--volume", "5Gi", "train.py")
    assert fetched
    assert "ttlSecondsAfterFinished" not in api.get(WORKLOADS, "job")["spec"]
    assert api.get(WORKLOADS, "job")["spec"]["workspace"]["size"] == "5Gi"
    assert api.names(CLAIMS) == ["workspace-job"]


def test_pull_fetches_later(api: FakeApi, devctl: Devctl, fetched: list[Path]) -> None:
    assert devctl("jobs", "pull", "job", "here").code == 0
    assert fetched == [Path("here")]
    assert api.names(CLAIMS) == ["workspace-job"]


def test_one_that_somebody_else_cancels(api: FakeApi, devctl: Devctl) -> None:
    def cancelled() -> None:
        api.things[KEY]["spec"]["stopped"] = True

    runs(api, cancelled)
    result = devctl("submit", "--name", "job", "train.py")
    assert result.code == 1
    assert "job `job` was cancelled" in result.stderr


def interrupts() -> None:
    raise KeyboardInterrupt


def test_without_a_terminal_ctrl_c_leaves_it_running(api: FakeApi, devctl: Devctl) -> None:
    runs(api, becomes(api, "Running"), interrupts)
    result = devctl("submit", "--name", "job", "train.py")
    assert result.code == 130
    assert "`job` continues: `devctl jobs logs -f job` follows it" in result.stderr
    assert not api.get(WORKLOADS, "job")["spec"].get("stopped")


@pytest.mark.parametrize("typed", ["y\n", "n\n", "\n"])
def test_on_a_terminal_ctrl_c_asks(
    typed: str, api: FakeApi, devctl: Devctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attend, "somebody_is_here", lambda: True)
    runs(api, becomes(api, "Running"), interrupts)
    result = devctl("submit", "--name", "job", "train.py", typed=typed)
    assert result.code == 130
    assert "Cancel `job`? Otherwise, it continues" in result.stderr
    assert bool(api.get(WORKLOADS, "job")["spec"].get("stopped")) is (typed == "y\n")


def test_the_place_in_a_queue_is_shown(
    api: FakeApi, devctl: Devctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Waiting:
        place, why = 2, "2 GPUs are short"

    @contextmanager
    def at_once(tick: Callable[[int], None]) -> Iterator[None]:
        ticks.append(tick)
        yield

    def queued() -> None:
        becomes(api, "Pending", reason="Queued", message="it waits in queue `q`")()

    ticks: list[Callable[[int], None]] = []
    monkeypatch.setattr(attend, "ticking", at_once)
    monkeypatch.setattr(
        "devctl.client.workloads.workloads.Workloads.waiting_for", lambda *_: Waiting
    )
    runs(api, queued, lambda: ticks[0](0), becomes(api, "Succeeded"))
    result = devctl("submit", "--name", "job", "--queue", "q", "train.py")
    assert "job: place 2 in its queue: 2 GPUs are short" in result.stderr


def test_files_are_deleted_only_if_asked_for(api: FakeApi, devctl: Devctl) -> None:
    api.add(WORKLOADS, gpu_workload("job", "Succeeded"))
    api.add(CLAIMS, claim())
    result = devctl("jobs", "delete", "job", "--delete-files")
    assert result.code == 2
    assert "this deletes the files that they wrote; there is no terminal" in result.stderr
    assert api.names(WORKLOADS) == ["job"]
    result = devctl("jobs", "delete", "job", "--delete-files", "--yes")
    assert result.stdout.splitlines() == [
        "gpuworkload/job deleted",
        "persistentvolumeclaim/workspace-job deleted",
    ]
