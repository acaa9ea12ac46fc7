"""Where a model's weights are, and whether they are this model's."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from devctl_inference import files, safetensors_header
from devctl_inference.failure import Failure, Reason
from devctl_inference.files import File

if TYPE_CHECKING:
    from collections.abc import Mapping

    from devctl_inference.settings import Settings

_SUFFIX = ".safetensors"
_SHOWN = 3


class Weights(NamedTuple):
    """A file of weights and what its outputs mean."""

    tensors: File
    labels: File
    baked: bool
    """Whether they are the image's own, and so are there from the start."""

    def wanted(self) -> list[File]:
        """What may still have to come."""
        return [] if self.baked else [self.tensors, self.labels]


def find(settings: Settings) -> Weights:
    """The weights that the job names, else those of the image, else the volume's usual ones.

    Raises:
        Failure: A name that labels cannot be found by.
    """
    usual = f"{settings.model}{_SUFFIX}"
    baked = settings.baked / usual
    if settings.weights is None and baked.is_file():
        return _weights(str(baked), None, settings, baked=True)
    path = settings.weights or f"{settings.volume}/{usual}"
    return _weights(path, settings.labels, settings, baked=False)


def _weights(path: str, labels: str | None, settings: Settings, *, baked: bool) -> Weights:
    if not path.endswith(_SUFFIX):
        # Other formats can run code when they are read.
        raise Failure(Reason.WEIGHTS_INVALID, f"{path} does not end in {_SUFFIX}")
    folder = settings.baked if baked else settings.volume
    labels = labels or f"{path.removesuffix(_SUFFIX)}-labels.json"
    return Weights(
        File(path, folder, files.WEIGHTS), File(labels, folder, files.LABELS), baked=baked
    )


def read(file: File, wanted: Mapping[str, tuple[int, ...]]) -> bytes:
    """A file of weights, if they are those of the model.

    Args:
        file: The file.
        wanted: The model's tensors and their shapes.

    Raises:
        Failure: They are others, or the file is damaged.
    """
    with file.open() as opened:
        size = os.fstat(opened.fileno()).st_size
        try:
            found = safetensors_header.read(opened, size)
        except ValueError as error:
            raise Failure(Reason.WEIGHTS_INVALID, f"{file.path}: {error}") from error
        if said := safetensors_header.differences(found, wanted):
            more = f"; and {len(said) - _SHOWN} more" if len(said) > _SHOWN else ""
            message = f"{file.path} does not fit the model and its labels: it "
            raise Failure(Reason.WEIGHTS_INVALID, f"{message}{'; '.join(said[:_SHOWN])}{more}")
        # Only now is its size known to be that of a model. In memory, because a file of the
        # volume that is cut off while it is mapped would end the process without a word.
        opened.seek(0)
        return opened.read(size)
