"""Finds a model's weights, and checks that they match the model."""

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
    """The files with the weights and the labels."""

    tensors: File
    labels: File
    baked: bool
    """Whether they are part of the image, and so always exist."""

    def wanted(self) -> list[File]:
        """The files that may have yet to arrive."""
        return [] if self.baked else [self.tensors, self.labels]


def find(settings: Settings) -> Weights:
    """The weights that the job names, else the image's, else the default ones on the volume.

    Raises:
        Failure: The name has the wrong suffix.
    """
    usual = f"{settings.model}{_SUFFIX}"
    baked = settings.baked / usual
    if settings.weights is None and baked.is_file():
        return _weights(str(baked), None, settings, baked=True)
    path = settings.weights or f"{settings.volume}/{usual}"
    return _weights(path, settings.labels, settings, baked=False)


def _weights(path: str, labels: str | None, settings: Settings, *, baked: bool) -> Weights:
    if not path.endswith(_SUFFIX):
        # Other formats can execute code when they are loaded.
        raise Failure(Reason.WEIGHTS_INVALID, f"{path} does not end in {_SUFFIX}")
    folder = settings.baked if baked else settings.volume
    labels = labels or f"{path.removesuffix(_SUFFIX)}-labels.json"
    return Weights(
        File(path, folder, files.WEIGHTS), File(labels, folder, files.LABELS), baked=baked
    )


def read(file: File, wanted: Mapping[str, tuple[int, ...]]) -> bytes:
    """Read a file of weights that match the model.

    Args:
        file: The file.
        wanted: The shapes of the model's tensors.

    Raises:
        Failure: They do not match, or the file is damaged.
    """
    with file.open() as opened:
        size = os.fstat(opened.fileno()).st_size
        try:
            found = safetensors_header.read(opened, size)
        except ValueError as error:
            raise Failure(Reason.WEIGHTS_INVALID, f"{file.path}: {error}") from error
        if said := safetensors_header.differences(found, wanted):
            more = f"; and {len(said) - _SHOWN} more" if len(said) > _SHOWN else ""
            message = f"{file.path} does not match the model and its labels: it "
            raise Failure(Reason.WEIGHTS_INVALID, f"{message}{'; '.join(said[:_SHOWN])}{more}")
        # Its size is known to be the model's only now. Read, not mapped: if a mapped file were
        # truncated, the process would be killed without a message.
        opened.seek(0)
        return opened.read(size)
