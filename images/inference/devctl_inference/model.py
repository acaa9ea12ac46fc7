"""`python -m devctl_inference.model`: loads the files of a model, and says what they hold.

What a GPUWorkload runs that names no image. The files of a model are in a folder with its name, on
a volume that is mounted at /models. It exits with 0, with 2 if there are none, or with 1 after any
other failure.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from devctl_inference.failure import Failure, Reason, record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MODELS = Path("/models")
_SAFETENSORS, _TORCH = (".safetensors",), (".pt", ".pth", ".bin")
_MISSING = 2
_MIB = 1 << 20


class Loaded(NamedTuple):
    """What a file holds."""

    tensors: int
    parameters: int
    size: int
    """Bytes of all tensors."""
    device: str


def find(name: str, models: Path) -> list[Path]:
    """The files of a model, by name.

    Raises:
        Failure: There are none, or the name leads out of the folder of all models.
    """
    folder = Path(os.path.realpath(models / name))
    if not name or not folder.is_relative_to(os.path.realpath(models)):
        raise Failure(Reason.SETTINGS_INVALID, f"MODEL_NAME `{name}` is not the name of a folder")
    known = (*_SAFETENSORS, *_TORCH)
    files = sorted(p for p in folder.glob("*") if p.suffix in known and p.is_file())
    if not files:
        wanted = ", ".join(f"*{suffix}" for suffix in known)
        message = (
            f"model `{name}` has no files ({wanted}) in {models / name}: mount a volume that has "
            f"them at {models} with spec.volumes, or run an image of your own with spec.image"
        )
        raise Failure(Reason.WEIGHTS_MISSING, message)
    return files


def load(path: Path) -> Loaded:
    """Load a file into the memory of a GPU, if there is one.

    Raises:
        Failure: It holds no tensors, or cannot be read.
    """
    import torch  # noqa: PLC0415 - takes seconds

    device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        if path.suffix in _SAFETENSORS:
            from safetensors.torch import load_file  # noqa: PLC0415 - as above

            found = load_file(path, device=device)
        else:
            # Without `weights_only`, a file could run any program.
            found = torch.load(path, map_location=device, weights_only=True)
    except torch.cuda.OutOfMemoryError as error:
        raise Failure(Reason.OUT_OF_GPU_MEMORY, f"{path.name}: {error}") from error
    except Exception as error:
        raise Failure(Reason.WEIGHTS_INVALID, f"{path.name}: {error}") from error
    values = found.values() if isinstance(found, dict) else []
    tensors = [value for value in values if isinstance(value, torch.Tensor)]
    if not tensors:
        raise Failure(Reason.WEIGHTS_INVALID, f"{path.name} holds no tensors by name")
    size = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
    return Loaded(len(tensors), sum(tensor.numel() for tensor in tensors), size, device)


def run(
    environment: Mapping[str, str],
    loader: Callable[[Path], Loaded],
    say: Callable[[str], None],
    models: Path = MODELS,
) -> None:
    """Load all files of the model that the environment names, one after the other.

    Raises:
        Failure: One of them cannot be loaded, or there are none.
    """
    name = environment.get("MODEL_NAME", "")
    parameters = size = 0
    for path in find(name, models):
        found = loader(path)
        parameters, size = parameters + found.parameters, size + found.size
        holds = f"{found.tensors} tensors, {found.parameters} parameters, {found.size // _MIB} MiB"
        say(f"{path.name}: {holds}, on {found.device}")
    say(f"model {name}: {parameters} parameters, {size // _MIB} MiB")


def main() -> int:
    """Run it, and record a failure for the status."""
    try:
        run(os.environ, load, _say)
    except Failure as failure:
        record(failure, Path(os.environ.get("TERMINATION_LOG", "/dev/termination-log")))
        print(f"error: {failure.reason}: {failure.message}", file=sys.stderr, flush=True)  # noqa: T201
        return _MISSING if failure.reason is Reason.WEIGHTS_MISSING else 1
    return 0


def _say(text: str) -> None:
    # File names are the user's: keep escape sequences away from the log reader's terminal.
    print("".join(char if char.isprintable() else "?" for char in text), flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
