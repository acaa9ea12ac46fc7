"""A job from its environment to its result, with a replacement for torch."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

import pytest
from devctl_inference import __main__ as program
from devctl_inference import bake
from devctl_inference import job as job_module
from devctl_inference import settings as settings_module
from devctl_inference.failure import Failure, Reason
from devctl_inference.job import run

from devctl.local.paths import REPOSITORY
from unit.inference.conftest import Library, picture, safetensors
from unit.patience import FOREVER, PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from devctl_inference.settings import Settings


def fails(job: Settings, library: Library | None = None) -> Reason:
    with pytest.raises(Failure) as caught:
        run(job, lambda: library or Library(), lambda _: None)
    assert not (job.volume / "output.json").exists()
    return caught.value.reason


def test_the_answer_lies_in_the_volume(job: Settings) -> None:
    library = Library()
    said: list[str] = []
    made = run(job, lambda: library, said.append)
    found = json.loads((job.volume / "output.json").read_text())
    assert found == made
    assert list(found) == ["model", "top5", "elapsed_ms", "device", "timestamp"]
    assert found["top5"] == [
        {"label": "dog", "probability": 0.75},
        {"label": "cat", "probability": 0.25},
    ]
    assert (found["model"], found["device"]) == ("resnet50", "cpu")
    assert found["elapsed_ms"] >= 0
    assert library.tensors == safetensors()
    assert len(library.network.pixels) == 224 * 224 * 3
    assert said == [f"{job.input} is `dog`; the full result is in {job.output}"]


def test_weights_of_the_image_need_none_in_the_volume(job: Settings) -> None:
    for name in ("resnet50.safetensors", "resnet50-labels.json"):
        job.baked.mkdir(exist_ok=True)
        (job.volume / name).rename(job.baked / name)
    run(job, Library, lambda _: None)
    assert (job.volume / "output.json").exists()


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        ("input.jpg", None, Reason.INPUT_MISSING),
        ("input.jpg", b"no image", Reason.INPUT_INVALID),
        ("input.jpg", picture((99, 99))[:-40], Reason.INPUT_INVALID),
        ("resnet50.safetensors", None, Reason.WEIGHTS_MISSING),
        ("resnet50-labels.json", None, Reason.WEIGHTS_MISSING),
        ("resnet50.safetensors", b"no weights", Reason.WEIGHTS_INVALID),
        ("resnet50-labels.json", b'["a", "b", "c"]', Reason.WEIGHTS_INVALID),
        ("resnet50-labels.json", b"no labels", Reason.WEIGHTS_INVALID),
    ],
)
def test_without_one_of_its_files_there_is_no_answer(
    job: Settings, file: str, content: bytes | None, reason: Reason
) -> None:
    (job.volume / file).unlink()
    if content is not None:
        (job.volume / file).write_bytes(content)
        os.utime(job.volume / file, (0, 0))
    assert fails(job) is reason


def test_an_answer_that_is_no_number_is_none(job: Settings) -> None:
    assert fails(job, Library([float("nan"), 0.5])) is Reason.WEIGHTS_INVALID


def test_what_can_be_known_at_once_is_not_waited_for(
    job: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wait_for(*_: object) -> NoReturn:
        raise AssertionError("it is waited for")

    monkeypatch.setattr(job_module, "wait_for", wait_for)
    patient = replace(job, wait_seconds=3600, input=f"{job.volume}/nothing.jpg")
    assert fails(replace(patient, output="/etc/passwd")) is Reason.OUTPUT_INVALID
    assert fails(replace(patient, output=patient.input)) is Reason.OUTPUT_INVALID
    assert fails(replace(patient, weights=f"{job.volume}/w.pt")) is Reason.WEIGHTS_INVALID
    assert fails(replace(patient, input="/etc/passwd")) is Reason.INPUT_INVALID
    with pytest.raises(AssertionError, match="it is waited for"):
        run(patient, Library, lambda _: None)


@pytest.mark.parametrize("file", ["input.jpg", "resnet50.safetensors", "resnet50-labels.json"])
def test_what_is_no_file_is_told_before_the_library_is_brought(job: Settings, file: str) -> None:
    (job.volume / file).unlink()
    os.mkfifo(job.volume / file)

    def bring() -> NoReturn:
        raise AssertionError("that takes seconds")

    with pytest.raises(Failure, match="is not a regular file"):
        run(job, bring, lambda _: None)


def main(monkeypatch: pytest.MonkeyPatch, log: Path, **environ: str) -> int:
    monkeypatch.setenv("TERMINATION_LOG", str(log))
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    before = signal.getsignal(signal.SIGTERM)
    try:
        return program.main()
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_failure_is_told_to_the_kubelet_and_to_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log"
    assert main(monkeypatch, log, MODEL="vgg\n16") == 1
    message = "unknown model `vgg�16`: spec.model must be resnet50 or mobilenet_v3_small"
    assert json.loads(log.read_text()) == {"reason": "SettingsInvalid", "message": message}
    assert capsys.readouterr().err == f"error: SettingsInvalid: {message}\n"


@pytest.mark.parametrize(
    ("error", "reason", "message"),
    [
        (ZeroDivisionError("none"), "InferenceFailed", "ZeroDivisionError: none"),
        (ImportError("no torch"), "InferenceFailed", "ImportError: no torch"),
        (MemoryError(), "OutOfMemory", "not enough memory for the model"),
    ],
)
def test_what_nobody_expected_is_told_as_well(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    reason: str,
    message: str,
) -> None:
    def broken(*_: object) -> None:
        raise error

    monkeypatch.setattr(job_module, "run", broken)
    assert main(monkeypatch, tmp_path / "log") == 1
    assert json.loads((tmp_path / "log").read_text()) == {"reason": reason, "message": message}


def test_success_says_nothing_to_the_kubelet(
    job: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(settings_module, "read", lambda _: job)
    monkeypatch.setattr(program, "_torch", Library)
    assert main(monkeypatch, tmp_path / "log") == 0
    assert not (tmp_path / "log").exists()
    assert "`dog`" in capsys.readouterr().out


def test_the_first_process_of_a_container_ends_when_it_is_asked_to(tmp_path: Path) -> None:
    code = (
        "import devctl_inference.__main__ as p, devctl_inference.job as j, time\n"
        f"j.run = lambda *_: (print('up', flush=True), time.sleep({FOREVER}))\n"
        "raise SystemExit(p.main())\n"
    )
    path = {"PYTHONPATH": str(REPOSITORY / "images" / "inference")}
    environ = {**path, "TERMINATION_LOG": str(tmp_path / "log")}
    with subprocess.Popen([sys.executable, "-c", code], env=environ, stdout=-1) as process:
        assert process.stdout
        assert process.stdout.readline() == b"up\n"
        process.terminate()
        assert process.wait(PATIENCE) == 128 + signal.SIGTERM


@pytest.mark.parametrize("what", ["", "none"])
def test_baking_nothing_needs_nothing(tmp_path: Path, what: str) -> None:
    assert bake.main(what, tmp_path / "weights") == 0
    assert list((tmp_path / "weights").iterdir()) == []


def test_baking_what_nobody_publishes_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bake.main("mine", tmp_path) == 1
    assert capsys.readouterr().err == "error: WEIGHTS must be `none` or `torchvision`, not `mine`\n"


def test_baking_without_a_network_fails_and_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def unreachable(_: Path) -> None:
        raise OSError("<urlopen error timed out>")

    monkeypatch.setattr(bake, "torchvision", unreachable)
    assert bake.main("torchvision", tmp_path) == 1
    said = capsys.readouterr().err
    assert "cannot download torchvision's weights: <urlopen error timed out>" in said
    assert "fix: build with WEIGHTS=none" in said
