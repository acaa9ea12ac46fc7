"""What a kind's own module says: whose objects are whose, and what the templates print."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

from apply.errors import ApplyError
from devctl.api.applied import Reason

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from apply.manifests import Key, Manifest


@dataclass(frozen=True)
class Values:
    """What one run is to do.

    Attributes:
        names: What the templates print, by name.
        remove: Objects that are to go, as they were read: they are deleted before anything is
            applied. One that has changed since is left, and the run fails as retryable.
        update_only: What is applied if it exists, and not made.
    """

    names: Mapping[str, Any]
    remove: Sequence[Manifest] = ()
    update_only: frozenset[Key] = frozenset()


class Module(Protocol):
    """`values.py` in the folder of a kind."""

    def identity(self, owner: Mapping[str, Any], /) -> Mapping[str, str]:
        """The labels that say that an object is an owner's."""

    def values(self, owner: Mapping[str, Any], /, **read: Any) -> Values:
        """What is to be done for an owner, from what was read beside it. It asks nobody itself."""


def load(name: str) -> Module:
    """The module of a kind.

    Raises:
        ApplyError: There is none.
    """
    try:
        return cast("Module", importlib.import_module(f"{name}.values"))
    except ImportError as error:
        raise ApplyError(Reason.TEMPLATE_ERROR, f"values of {name}: {error}") from error


def compute(name: str, owner: Mapping[str, Any], read: Mapping[str, Any]) -> Values:
    """What a kind's function says.

    Raises:
        ApplyError: It refuses, or fails.
    """
    try:
        return load(name).values(owner, **read)
    except ApplyError:
        raise
    except Exception as error:  # the owner is told of a mistake of ours, too
        message = f"values of {name}: {type(error).__name__}: {error}"
        raise ApplyError(Reason.TEMPLATE_ERROR, message) from error
