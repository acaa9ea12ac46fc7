"""Filters of the role `devserver`; what they do stands in plugins/devserver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from devserver.host_key import new_host_key
from devserver.identity import identity
from devserver.values import devserver_values

if TYPE_CHECKING:
    from collections.abc import Callable


class FilterModule:
    """Registers the filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Name to function."""
        return {
            "devserver_identity": identity,
            "devserver_values": devserver_values,
            "new_host_key": new_host_key,
        }
