"""The flavor that a server gets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apply.errors import ApplyError, Reason

from devctl.api.flavors import choose, pod_part

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def find_flavor(name: str | None, flavors: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The flavor of that name, or the default one, as it is recorded with the pods.

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
    generation = found["metadata"]["generation"]
    return {"name": choice.name, "generation": generation, "spec": pod_part(found["spec"])}
