"""The flavor that a server gets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apply.errors import ApplyError, Reason

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LISTED = "name one that `kubectl get devserverflavors` lists"


def find_flavor(name: str | None, flavors: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The flavor of that name, or the default one, as it is recorded with the pods.

    Args:
        name: What the server names; None if it leaves the choice to the administrator.
        flavors: Every DevServerFlavor.

    Raises:
        ApplyError: There is none of that name; or not exactly one default.
    """
    if name is None:
        found = [flavor for flavor in flavors if flavor["spec"].get("default")]
        if len(found) != 1:
            named = ", ".join(sorted(flavor["metadata"]["name"] for flavor in found))
            problem = f"several are the default ({named})" if found else "none is the default"
            message = f"the server names no flavor and {problem}: {_LISTED}"
            raise ApplyError(Reason.INVALID, message)
    else:
        found = [flavor for flavor in flavors if flavor["metadata"]["name"] == name]
        if not found:
            raise ApplyError(Reason.INVALID, f"flavor `{name}` does not exist: {_LISTED}")
    metadata, spec = found[0]["metadata"], found[0]["spec"]
    # Whether it is the default says nothing about the pods.
    kept = {field: value for field, value in spec.items() if field != "default"}
    return {"name": metadata["name"], "generation": metadata["generation"], "spec": kept}
