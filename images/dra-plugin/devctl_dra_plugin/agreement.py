"""What the plugin agrees on with others who hand out the node's GPUs, if there are any."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, Protocol

from devctl_dra_plugin.reservations import NOTHING, View

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from contextlib import AbstractContextManager

    from devctl_dra_plugin.devices import Device
    from devctl_dra_plugin.planning import Preparation


class Held(NamedTuple):
    """What the plugin's record says."""

    claims: tuple[Preparation, ...]
    is_all: bool
    """False while the record is lost: then other claims may hold GPUs as well."""


class Agreement(Protocol):
    """With whoever else hands out the node's GPUs."""

    def reserving(self, claim: Preparation) -> AbstractContextManager[None]:
        """Reserve a claim's GPUs; the plugin's record is written within."""

    def give_back(self, claim: Preparation) -> None:
        """Release a claim's GPUs, now or later."""

    def look(self, devices: Collection[Device], held: Callable[[], Held]) -> View:
        """Show that the claims still hold their GPUs, and see who else has some."""


class NoAgreement:
    """There is nobody else."""

    @contextmanager
    def reserving(self, _claim: Preparation) -> Iterator[None]:
        """Nothing is to be done."""
        yield

    def give_back(self, claim: Preparation) -> None:
        """Nothing is to be done."""

    def look(self, _devices: Collection[Device], _held: Callable[[], Held]) -> View:
        """Nobody else has any."""
        return NOTHING
