"""torchvision's models; the only module that imports torch, which takes seconds."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

import safetensors.torch
import torch
from safetensors import SafetensorError
from torchvision import models

from devctl_inference.failure import Failure, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devctl_inference.preprocess import Preprocess
    from devctl_inference.settings import ModelName

_MODELS = {
    "resnet50": models.resnet50,
    "mobilenet_v3_small": models.mobilenet_v3_small,
}
_MAX_THREADS = 4
"""More do not speed up a single image, and the job shares the node's cores."""


class TorchNetwork:
    """A network, on the GPU if there is one."""

    def __init__(self, module: torch.nn.Module) -> None:
        """Move a network to the device."""
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self._module = module.eval().to(self._device)

    @property
    def device(self) -> str:
        """`cuda` or `cpu`."""
        return str(self._device.type)

    def probabilities(self, pixels: bytes, preprocess: Preprocess) -> list[float]:
        """The softmax of the network's output for one image."""
        height, width = preprocess.size
        with _gpu_memory(), torch.inference_mode():
            flat = torch.frombuffer(bytearray(pixels), dtype=torch.uint8).to(self._device)
            image = flat.reshape(height, width, 3).permute(2, 0, 1).float() / 255
            mean, std = (
                torch.tensor(part, device=self._device).reshape(3, 1, 1)
                for part in (preprocess.mean, preprocess.std)
            )
            said = self._module(((image - mean) / std).unsqueeze(0))
            found: list[float] = said.softmax(dim=1)[0].tolist()
        return found


class TorchLibrary:
    """Creates torchvision's models without initial weights, so that none is ever untrained."""

    def __init__(self) -> None:
        """Limit the number of threads."""
        torch.set_num_threads(min(_MAX_THREADS, len(os.sched_getaffinity(0))))

    def shapes(self, model: ModelName, classes: int) -> dict[str, tuple[int, ...]]:
        """Names and shapes, from a network without memory."""
        state = _empty(model, classes).state_dict()
        return {name: tuple(tensor.shape) for name, tensor in state.items()}

    def load(self, model: ModelName, classes: int, tensors: bytes) -> TorchNetwork:
        """A network with all of its tensors from the file."""
        module = _empty(model, classes)
        try:
            state = safetensors.torch.load(tensors)
            state = {n: t.float() if t.is_floating_point() else t for n, t in state.items()}
            # Assigned, not copied into random tensors: creating those takes longer than reading.
            module.load_state_dict(state, strict=True, assign=True)
        except (SafetensorError, RuntimeError) as error:
            message = f"the weights cannot be loaded: {error}"
            raise Failure(Reason.WEIGHTS_INVALID, message) from error
        with _gpu_memory():
            return TorchNetwork(module)


def _empty(model: ModelName, classes: int) -> torch.nn.Module:
    with torch.device("meta"):
        made: torch.nn.Module = _MODELS[model](weights=None, num_classes=classes)
    return made


@contextmanager
def _gpu_memory() -> Iterator[None]:
    try:
        yield
    except torch.cuda.OutOfMemoryError as error:
        message = f"not enough free memory on the GPU: {error}"
        raise Failure(Reason.OUT_OF_GPU_MEMORY, message) from error
