"""Where a network runs, with replacements for torch and its companions."""

from __future__ import annotations

import importlib
import sys
from contextlib import nullcontext
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from devctl_inference.failure import Failure, Reason

if TYPE_CHECKING:
    from collections.abc import Callable

NAME = "devctl_inference.torch_network"


class GpuFullError(RuntimeError):
    """Replaces torch.cuda.OutOfMemoryError."""


class Device(nullcontext[None]):
    """Replaces torch.device."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.type = kind


class Module:
    """Replaces a network of torchvision."""

    def __init__(self, room: Callable[[str], bool]) -> None:
        self.on = "nowhere"
        self._room = room

    def load_state_dict(self, _state: object, *, strict: bool, assign: bool) -> None:
        assert strict
        assert assign

    def eval(self) -> Module:
        return self

    def to(self, device: Device) -> Module:
        if not self._room(device.type):
            raise GpuFullError("tried to allocate 2 GiB")
        self.on = device.type
        return self


def library(monkeypatch: pytest.MonkeyPatch, module: Module, *, cuda: bool) -> Any:
    """The jobs' library, on a machine with or without CUDA."""
    torch: Any = ModuleType("torch")
    torch.cuda = SimpleNamespace(is_available=lambda: cuda, OutOfMemoryError=GpuFullError)
    torch.device = Device
    torch.set_num_threads = lambda _count: None
    torch.nn = SimpleNamespace(Module=Module)
    safetensors: Any = ModuleType("safetensors")
    safetensors.SafetensorError = ValueError
    safetensors.torch = ModuleType("safetensors.torch")
    safetensors.torch.load = lambda _tensors: {}
    torchvision: Any = ModuleType("torchvision")
    make = lambda **_options: module  # noqa: E731
    torchvision.models = SimpleNamespace(resnet50=make, mobilenet_v3_small=make)
    for fake in (torch, safetensors, safetensors.torch, torchvision):
        monkeypatch.setitem(sys.modules, fake.__name__, fake)
    found = importlib.import_module(NAME).TorchLibrary()
    # The next test imports it again, with its own modules.
    del sys.modules[NAME]
    return found


@pytest.mark.parametrize(("cuda", "device"), [(True, "cuda"), (False, "cpu")])
@pytest.mark.parametrize("model", ["resnet50", "mobilenet_v3_small"])
def test_it_runs_on_cuda_if_there_is_one_and_else_on_the_cpu(
    monkeypatch: pytest.MonkeyPatch, model: str, device: str, *, cuda: bool
) -> None:
    module = Module(lambda _device: True)
    network = library(monkeypatch, module, cuda=cuda).load(model, 2, b"")
    assert (network.device, module.on) == (device, device)


def test_a_gpu_that_is_full_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not fall back to the CPU, where it could take forever."""
    module = Module(lambda device: device != "cuda")
    with pytest.raises(Failure, match="not enough free memory on the GPU: tried") as caught:
        library(monkeypatch, module, cuda=True).load("resnet50", 2, b"")
    assert caught.value.reason is Reason.OUT_OF_GPU_MEMORY
