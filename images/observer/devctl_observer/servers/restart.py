"""Whether the spec asks for something that a running server takes up at its next start only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from devctl.api.devserver import Condition
from devctl.api.pod_spec import changes
from devctl_observer.judging.conditions import FALSE, TRUE, UNKNOWN, condition

if TYPE_CHECKING:
    from devctl.api.made_from import MadeFrom
    from devctl_observer.servers.model import Server


def advice(server: Server, obstacle: str) -> str:
    """What to do about whatever has changed.

    Args:
        server: Whose owner is told.
        obstacle: Why it could not start as it is now; empty where it could.
    """
    # Advice that would end a running server for good is worse than none.
    if obstacle:
        return f"do not stop it yet, it could not start: {obstacle}"
    name = server.metadata.name
    return f"to use it, stop and start the server: `devctl stop {name} && devctl start {name}`"


def restart_condition(
    server: Server, made: MadeFrom | None, then: str, *, running: bool, revised: bool
) -> dict[str, Any]:
    """The RestartRequired condition.

    Args:
        server: What is wanted.
        made: What the pods are made from; None where that is not known.
        then: What to do about a change.
        running: Whether it has pods that are to stay.
        revised: Whether some of these are of an earlier revision of its StatefulSet.
    """
    kind = Condition.RESTART_REQUIRED
    if not running:
        return condition(kind, FALSE, "NotRunning", "the next start uses the spec as it is")
    if made is None:
        message = "it is not recorded what the pods were made from; the next start uses the spec"
        return condition(kind, UNKNOWN, "NotRecorded", message)
    changed = changes(server.pod_spec, made.spec)
    if not changed and revised:
        # A release of ours has changed what it makes from the same spec.
        message = f"devctl makes servers in another way since this one started; {then}"
        return condition(kind, TRUE, "TemplateChanged", message)
    if not changed:
        return condition(kind, FALSE, "UpToDate", "the server runs on its spec as it is")
    have = "has" if len(changed) == 1 else "have"
    what = f"{_listed(changed)} {have} changed since the server started"
    return condition(kind, TRUE, "SpecChanged", f"{what}; {then}")


def _listed(names: list[str]) -> str:
    """As people list things.

    >>> _listed(["spec.image", "spec.mode", "spec.flavor"])
    'spec.image, spec.mode and spec.flavor'
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
