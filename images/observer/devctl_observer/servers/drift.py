"""Whether a server runs on what its flavor now says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from devctl.api.devserver import Condition
from devctl_observer.conditions import FALSE, TRUE, UNKNOWN, condition

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from devctl_observer.made_from import MadeFrom, Recorded
    from devctl_observer.model import Flavor, Server

_NAMED = 8
"""How many flavors a message lists."""


def wanted_flavor(server: Server, flavors: Mapping[str, Flavor]) -> tuple[Flavor | None, str]:
    """The flavor that a server asks for, or why there is none."""
    if server.spec.flavor is None:
        return _default(flavors)
    if flavor := flavors.get(server.spec.flavor):
        return flavor, ""
    message = f"flavor `{server.spec.flavor}` does not exist; {_choices(flavors)}"
    return None, message


def _default(flavors: Mapping[str, Flavor]) -> tuple[Flavor | None, str]:
    found = [flavor for flavor in flavors.values() if flavor.spec.default]
    if len(found) == 1:
        return found[0], ""
    names = sorted(flavor.metadata.name for flavor in found)
    several = f"several flavors are the default ({listed(names)})"
    problem = several if found else "no flavor is the default"
    return None, f"the server names no flavor and {problem}; {_choices(flavors)}"


def _choices(flavors: Mapping[str, Flavor]) -> str:
    names = sorted(flavors)
    if not names:
        return "there are no flavors yet: ask an administrator to make one"
    return f"set spec.flavor to one of: {listed(names)}"


def listed(names: Sequence[str]) -> str:
    """Names for a message, however many there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def drift_condition(
    running: Iterable[Recorded | None], made: MadeFrom | None, flavor: Flavor | str, restart: str
) -> dict[str, Any]:
    """The FlavorOutdated condition.

    Args:
        running: What each running pod says it was made from.
        made: The record of it, which has the flavor's whole spec.
        flavor: What the server asks for, or why there is none.
        restart: What to do about a flavor that is outdated.
    """
    kind = Condition.FLAVOR_OUTDATED
    made_from = list(running)
    if isinstance(flavor, str):
        return condition(kind, UNKNOWN, "FlavorNotFound", flavor)
    name = flavor.metadata.name
    if not made_from:
        return condition(kind, FALSE, "NotRunning", f"the next start uses flavor `{name}` as it is")
    if None in made_from:
        message = "the pods do not say what flavor they were made from"
        return condition(kind, UNKNOWN, "NotRecorded", message)
    for entry in made_from:
        if entry is not None and entry.flavor != name:
            message = f"the server runs on flavor `{entry.flavor}` and asks for `{name}`; {restart}"
            return condition(kind, TRUE, "OtherFlavor", message)
        if entry is not None and _has_changed(entry, made, flavor):
            message = f"flavor `{name}` has changed since the server started; {restart}"
            return condition(kind, TRUE, "FlavorChanged", message)
    return condition(kind, FALSE, "UpToDate", f"the server runs on flavor `{name}` as it is")


def _has_changed(entry: Recorded, made: MadeFrom | None, flavor: Flavor) -> bool:
    """Whether pods would be made otherwise now; a change of what is the default changes none."""
    if made is not None and made.flavor == entry:
        return made.flavor_spec != flavor.pod_spec
    return entry.generation != flavor.metadata.generation
