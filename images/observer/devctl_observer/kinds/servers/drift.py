"""Whether a running server matches its current spec and flavor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from devctl.api.devserver import Condition
from devctl.api.flavors import gives_the_same
from devctl.api.labels import FLAVOR, FLAVOR_GENERATION
from devctl.api.made_from import MadeFrom
from devctl.api.pod_spec import changes
from devctl_observer.judging.conditions import FALSE, TRUE, UNKNOWN, condition
from devctl_observer.kinds.flavors.model import Flavor
from devctl_observer.kinds.servers.model import Server


class Recorded(NamedTuple):
    """The flavor that something was created from."""

    flavor: str
    generation: int


def recorded(annotations: Mapping[str, str]) -> Recorded | None:
    """The flavor that a pod was created from, by its annotations."""
    name, generation = annotations.get(FLAVOR, ""), annotations.get(FLAVOR_GENERATION, "")
    # A longer number is not a generation, and Python refuses to parse very long ones.
    if not (name and generation.isascii() and generation.isdecimal() and len(generation) < 20):  # noqa: PLR2004 - digits of 64 bits
        return None
    return Recorded(name, int(generation))


def drift_condition(
    running: Iterable[Recorded | None], made: MadeFrom | None, flavor: Flavor | str, restart: str
) -> dict[str, Any]:
    """The condition FlavorOutdated.

    Args:
        running: The flavor that each running pod was created from.
        made: The record with the whole spec of that flavor.
        flavor: The desired flavor, or why there is none.
        restart: What to do about an outdated flavor.
    """
    kind = Condition.FLAVOR_OUTDATED
    made_from = list(running)
    if isinstance(flavor, str):
        return condition(kind, UNKNOWN, "FlavorNotFound", flavor)
    name = flavor.metadata.name
    if not made_from:
        return condition(kind, FALSE, "NotRunning", f"the next start uses flavor `{name}`")
    if None in made_from:
        message = "the pods do not record which flavor they were created from"
        return condition(kind, UNKNOWN, "NotRecorded", message)
    for entry in made_from:
        if entry is not None and entry.flavor != name:
            message = f"the server runs on flavor `{entry.flavor}` instead of `{name}`; {restart}"
            return condition(kind, TRUE, "OtherFlavor", message)
        if entry is not None and _has_changed(entry, made, flavor):
            message = f"flavor `{name}` has changed since the server started; {restart}"
            return condition(kind, TRUE, "FlavorChanged", message)
    return condition(kind, FALSE, "UpToDate", f"the server runs on the current flavor `{name}`")


def _has_changed(entry: Recorded, made: MadeFrom | None, flavor: Flavor) -> bool:
    """Whether the flavor would give different pods now; its `default` does not count."""
    if made is not None and (made.flavor, made.generation) == entry:
        return not gives_the_same(made.flavor_spec, flavor.pod_spec)
    return entry.generation != flavor.metadata.generation


def advice(server: Server, obstacle: str) -> str:
    """What to do about a change.

    Args:
        server: The server to restart.
        obstacle: Why it could not start now; empty if it could.
    """
    # Advice that leaves a running server stopped is worse than none.
    if obstacle:
        return f"do not restart it yet, it could not start: {obstacle}"
    return f"to apply the change, run `devctl restart {server.metadata.name}`"


def restart_condition(
    server: Server, made: MadeFrom | None, then: str, *, running: bool, revised: bool
) -> dict[str, Any]:
    """The condition RestartRequired.

    Args:
        server: The desired state.
        made: What the pods were created from; None if unknown.
        then: What to do about a change.
        running: Whether it has pods that the role does not replace.
        revised: Whether some of these have an earlier revision of its StatefulSet.
    """
    kind = Condition.RESTART_REQUIRED
    if not running:
        return condition(kind, FALSE, "NotRunning", "the next start uses the current spec")
    if made is None:
        message = "the pods have no record of their spec; the next start uses the current one"
        return condition(kind, UNKNOWN, "NotRecorded", message)
    changed = changes(server.pod_spec, made.spec)
    if not changed and revised:
        # A new release of devctl renders the same spec differently.
        message = f"a newer devctl builds servers differently; {then}"
        return condition(kind, TRUE, "TemplateChanged", message)
    if not changed:
        return condition(kind, FALSE, "UpToDate", "the server runs on its current spec")
    have = "has" if len(changed) == 1 else "have"
    what = f"{_listed(changed)} {have} changed since the server started"
    return condition(kind, TRUE, "SpecChanged", f"{what}; {then}")


def _listed(names: list[str]) -> str:
    """Join names for a sentence.

    >>> _listed(["spec.image", "spec.mode", "spec.flavor"])
    'spec.image, spec.mode and spec.flavor'
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
