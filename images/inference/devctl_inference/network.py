"""The interface of a machine learning library; tests have their own."""

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
        """The device: cuda or cpu."""

    def probabilities(self, pixels: bytes, preprocess: Preprocess) -> Sequence[float]:
        """The probability of each class.

        Raises:
            Failure: The device has not enough memory.
        """


class Library(Protocol):
    """A factory of networks."""

    def shapes(self, model: ModelName, classes: int) -> Mapping[str, tuple[int, ...]]:
        """The shapes of a model's tensors by name."""

    def load(self, model: ModelName, classes: int, tensors: bytes) -> Network:
        """A model with the weights of a safetensors file.

        Raises:
            Failure: They do not match, or the device has not enough memory.
        """
