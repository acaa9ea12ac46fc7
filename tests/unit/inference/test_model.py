"""What a GPUWorkload without an image of its own does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from devctl_inference import model
from devctl_inference.failure import Failure, Reason
from devctl_inference.model import Loaded

from devctl.local.paths import REPOSITORY


def loaded(path: Path) -> Loaded:
    """Four bytes a parameter, as many as the file has bytes."""
    size = path.stat().st_size
    return Loaded(1, size // 4, size, "cpu")


def said(name: str, models: Path) -> list[str]:
    lines: list[str] = []
    model.run({"MODEL_NAME": name}, loaded, lines.append, models)
    return lines


def test_all_files_of_the_model_are_loaded(tmp_path: Path) -> None:
    folder = tmp_path / "org" / "llama"
    folder.mkdir(parents=True)
    for name in ("b.safetensors", "a.pt", "config.json"):
        (folder / name).write_bytes(bytes(1 << 20))
    assert said("org/llama", tmp_path) == [
        "a.pt: 1 tensors, 262144 parameters, 1 MiB, on cpu",
        "b.safetensors: 1 tensors, 262144 parameters, 1 MiB, on cpu",
        "model org/llama: 524288 parameters, 2 MiB",
    ]


def test_without_files_it_says_what_it_needs(tmp_path: Path) -> None:
    (tmp_path / "llama").mkdir()
    for name in ("llama", "other"):
        with pytest.raises(Failure, match="mount a volume") as raised:
            said(name, tmp_path)
        assert raised.value.reason is Reason.WEIGHTS_MISSING
        assert str(tmp_path / name) in raised.value.message


@pytest.mark.parametrize("name", ["", "..", "../other", "/etc", "link"])
def test_a_name_leads_nowhere_else(tmp_path: Path, name: str) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.pt").touch()
    (tmp_path / "models" / "link").symlink_to(tmp_path / "other")
    with pytest.raises(Failure) as raised:
        said(name, tmp_path / "models")
    assert raised.value.reason is Reason.SETTINGS_INVALID


def test_the_exit_code_is_two_and_the_reason_is_recorded(tmp_path: Path) -> None:
    log = tmp_path / "log"
    environment = {
        "PYTHONPATH": str(REPOSITORY / "images/inference"),
        "MODEL_NAME": "llama2",
        "TERMINATION_LOG": str(log),
    }
    command = [sys.executable, "-P", "-m", "devctl_inference.model"]
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert "model `llama2` has no files" in done.stderr
    assert json.loads(log.read_text())["reason"] == "WeightsMissing"


class Tensor:
    """Replaces torch.Tensor."""

    def numel(self) -> int:
        return 6

    def element_size(self) -> int:
        return 4


class Torch(ModuleType):
    """Replaces torch, and what loads safetensors with it."""

    Tensor = Tensor

    def __init__(self, found: Any, *, gpu: bool) -> None:
        super().__init__("torch")
        self.asked: dict[str, Any] = {}
        self._found = found
        memory = type("OutOfMemoryError", (RuntimeError,), {})
        self.cuda = SimpleNamespace(is_available=lambda: gpu, OutOfMemoryError=memory)

    def load(self, path: Path, **options: Any) -> Any:
        self.asked = options | {"path": path}
        if isinstance(self._found, Exception):
            raise self._found
        return self._found

    load_file = load


def with_torch(monkeypatch: pytest.MonkeyPatch, found: Any, *, gpu: bool = False) -> Torch:
    made = Torch(found, gpu=gpu)
    for name in ("torch", "safetensors", "safetensors.torch"):
        monkeypatch.setitem(sys.modules, name, made)
    return made


def test_files_are_loaded_onto_the_gpu_if_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = with_torch(monkeypatch, {"a": Tensor(), "b": Tensor(), "epoch": 3}, gpu=True)
    assert model.load(Path("m.safetensors")) == Loaded(2, 12, 48, "cuda")
    assert torch.asked["device"] == "cuda"
    # A pickle could run any program.
    assert model.load(Path("m.pt")) == Loaded(2, 12, 48, "cuda")
    assert torch.asked["weights_only"] is True
    assert torch.asked["map_location"] == "cuda"
    with_torch(monkeypatch, {"a": Tensor()})
    assert model.load(Path("m.pt")).device == "cpu"


@pytest.mark.parametrize("found", [ValueError("broken"), {}, [1], {"epoch": 3}])
def test_what_holds_no_tensors_is_invalid(monkeypatch: pytest.MonkeyPatch, found: Any) -> None:
    with_torch(monkeypatch, found)
    with pytest.raises(Failure, match="m") as raised:
        model.load(Path("m.pt"))
    assert raised.value.reason is Reason.WEIGHTS_INVALID


def test_too_little_memory_has_a_reason_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = with_torch(monkeypatch, None, gpu=True)
    torch._found = torch.cuda.OutOfMemoryError("2 GiB wanted")  # noqa: SLF001
    with pytest.raises(Failure, match="2 GiB wanted") as raised:
        model.load(Path("m.pt"))
    assert raised.value.reason is Reason.OUT_OF_GPU_MEMORY
