"""The labels that say that an object is a server's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from devctl.api.labels import DEVSERVER, MANAGED_BY, MANAGER, OWNER, owner_digest

if TYPE_CHECKING:
    from collections.abc import Mapping


def identity(server: Mapping[str, Any]) -> dict[str, str]:
    """Who made it, for which server, of which owner.

    Homes outlive their server. The owner is part of the identity, so that a server of the same name
    that somebody else makes does not come up with another person's files, but with a conflict.
    """
    return {
        MANAGED_BY: MANAGER,
        DEVSERVER: str(server["metadata"]["name"]),
        OWNER: owner_digest(str(server["spec"]["owner"])),
    }
