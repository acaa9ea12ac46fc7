"""The flavor that a server gets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apply.errors import ApplyError

from devctl.api.applied import Reason
from devctl.api.flavors import choose, pod_part

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def find_flavor(
    name: str | None, flavors: Sequence[Mapping[str, Any]]
) -> tuple[str, int, dict[str, Any]]:
    """Name, generation and spec of the flavor of that name, or of the default one.

    Args:
        name: What the server names; None if it leaves the choice to the administrator.
        flavors: Every DevServerFlavor.

    Raises:
        ApplyError: There is none of that name; or not exactly one default.
    """
    by_name = {flavor["metadata"]["name"]: flavor for flavor in flavors}
    choice = choose(name, {n: bool(f["spec"].get("default")) for n, f in by_name.items()})
    if choice.problem:
        raise ApplyError(Reason.INVALID, choice.problem)
    found = by_name[choice.name]
    return choice.name, found["metadata"]["generation"], pod_part(found["spec"])
