"""Whether a server runs on what its flavor now says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from devctl.api.devserver import Condition
from devctl.api.labels import FLAVOR, FLAVOR_GENERATION
from devctl_observer.conditions import FALSE, TRUE, UNKNOWN, condition

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from devctl_observer.model import Flavor, Server

_NAMED = 8
"""How many flavors a message lists."""


class Recorded(NamedTuple):
    """The flavor that something was made from."""

    flavor: str
    generation: int


def recorded(annotations: Mapping[str, str] | None) -> Recorded | None:
    """What the annotations of a pod or a pod template say."""
    name = (annotations or {}).get(FLAVOR, "")
    generation = (annotations or {}).get(FLAVOR_GENERATION, "")
    if not (name and generation.isascii() and generation.isdecimal()):
        return None
    return Recorded(name, int(generation))


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
    problem = "no flavor is the default" if not found else "several flavors are the default"
    return None, f"the server names no flavor and {problem}; {_choices(flavors)}"


def _choices(flavors: Mapping[str, Flavor]) -> str:
    names = sorted(flavors)
    if not names:
        return "there are no flavors yet: ask an administrator to make one"
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"set spec.flavor to one of: {', '.join(names[:_NAMED])}{more}"


def drift_condition(
    running: Iterable[Recorded | None], flavor: Flavor | None, problem: str
) -> dict[str, Any]:
    """The FlavorOutdated condition, from what each running pod was made from."""
    kind = Condition.FLAVOR_OUTDATED
    made_from = list(running)
    if flavor is None:
        return condition(kind, UNKNOWN, "FlavorNotFound", problem)
    name, generation = flavor.metadata.name, flavor.metadata.generation
    if not made_from:
        return condition(kind, FALSE, "NotRunning", f"the next start uses flavor `{name}` as it is")
    if None in made_from:
        message = "the pods do not say what flavor they were made from"
        return condition(kind, UNKNOWN, "NotRecorded", message)
    restart = "stop and start the server to use it"
    for entry in made_from:
        if entry is not None and entry.flavor != name:
            message = f"the server runs on flavor `{entry.flavor}` and asks for `{name}`; {restart}"
            return condition(kind, TRUE, "OtherFlavor", message)
        if entry is not None and entry.generation != generation:
            message = f"flavor `{name}` has changed since the server started; {restart}"
            return condition(kind, TRUE, "FlavorChanged", message)
    return condition(kind, FALSE, "UpToDate", f"the server runs on flavor `{name}` as it is")
