"""All that objects of a kind make operator and observer do: a right that none of it needs shows."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.commands import Kubectl


@dataclass(frozen=True)
class Scene:
    """Where it happens.

    Attributes:
        kubectl: An administrator's.
        namespace: One of the test's own.
        image: Of pods.
        clocks: Sets the observer's own clock and the API server's, by seconds ahead.
    """

    kubectl: Kubectl
    namespace: str
    image: str
    clocks: Callable[[int, int], None]


def causes() -> Iterator[Callable[[Scene], None]]:
    """One of each module here: a kind's own says how its objects live and end."""
    for found in pkgutil.iter_modules(__path__):
        yield importlib.import_module(f"{__name__}.{found.name}").cause
