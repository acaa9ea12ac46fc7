"""What is asked of a machine learning library; tests have one of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from devctl_inference.preprocess import Preprocess
    from devctl_inference.settings import ModelName


class Network(Protocol):
    """A model with its weights, on a device."""

    @property
    def device(self) -> str:
        """What it runs on: cuda or cpu."""

    def probabilities(self, pixels: bytes, preprocess: Preprocess) -> Sequence[float]:
        """How likely each class is.

        Raises:
            Failure: The device has not the memory for it.
        """


class Library(Protocol):
    """What makes networks."""

    def shapes(self, model: ModelName, classes: int) -> Mapping[str, tuple[int, ...]]:
        """The tensors that a model is made of."""

    def load(self, model: ModelName, classes: int, tensors: bytes) -> Network:
        """A model with the weights of a safetensors file.

        Raises:
            Failure: They do not fit, or the device has not the memory for them.
        """
