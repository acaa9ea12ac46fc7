"""What the user may do in their namespace."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from devctl.api.labels import GROUP
from devctl.client.doctor.finding import Finding, failed, ok, warning
from devctl.errors import DeniedError, NotFoundError
from devctl.kube import resources

if TYPE_CHECKING:
    from devctl.kube.cluster import Cluster


class Right(NamedTuple):
    """Something that a command needs.

    Attributes:
        verb: Such as `get`.
        group: The API group.
        resource: The kind's plural.
        subresource: Such as `exec`.
        commands: What does not work without.
        basic: Whether nothing works without.
    """

    verb: str
    group: str
    resource: str
    subresource: str
    commands: str
    basic: bool = False

    def __str__(self) -> str:
        """As people name it: `create pods/exec`."""
        what = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        return f"{self.verb} {what}"


RIGHTS = (
    Right("list", GROUP, "devservers", "", "list", basic=True),
    Right("get", GROUP, "devservers", "", "describe", basic=True),
    Right("watch", GROUP, "devservers", "", "create --wait", basic=True),
    Right("create", GROUP, "devservers", "", "create", basic=True),
    Right("patch", GROUP, "devservers", "", "stop, start, extend"),
    Right("delete", GROUP, "devservers", "", "delete"),
    Right("list", GROUP, "devserverflavors", "", "flavors"),
    Right("get", GROUP, "devserverflavors", "", "create --flavor"),
    Right("get", "", "pods", "", "ssh, exec, run", basic=True),
    Right("list", "", "pods", "", "delete --wait, homes list"),
    Right("watch", "", "pods", "", "ssh"),
    Right("get", "", "pods", "exec", "ssh, exec, run, sync, cp"),
    Right("create", "", "pods", "exec", "ssh, exec, run, sync, cp"),
    Right("get", "", "pods", "portforward", "port-forward, jupyter"),
    Right("create", "", "pods", "portforward", "port-forward, jupyter"),
    Right("list", "", "persistentvolumeclaims", "", "homes list"),
    Right("get", "", "persistentvolumeclaims", "", "homes delete"),
    Right("delete", "", "persistentvolumeclaims", "", "homes delete"),
    Right("list", "", "events", "", "events"),
)
"""What the ClusterRole `devctl-user` gives, as far as commands need it."""
_FIX = "have an administrator bind the ClusterRole `devctl-user` to you in namespace `{}`"


def rights(cluster: Cluster) -> Finding:
    """Whether every command can do what it has to."""
    missing = [
        right
        for right in RIGHTS
        if not cluster.allowed(
            right.verb, right.group, right.resource, subresource=right.subresource
        )
    ]
    where = f"in namespace `{cluster.namespace}`"
    if not missing:
        with suppress(DeniedError):
            try:
                cluster.get(resources.Namespace, cluster.namespace)
            except NotFoundError:
                return failed(
                    "rights",
                    f"there is no namespace `{cluster.namespace}`",
                    "name another one with -n, or have an administrator make it",
                )
        return ok("rights", f"all that commands need {where}")
    fix = f"{_FIX.format(cluster.namespace)}, or name another one with -n"
    if all(right in missing for right in RIGHTS if right.basic):
        return failed("rights", f"you have no rights {where}: no command works there", fix)
    what = ", ".join(str(right) for right in missing)
    commands = ", ".join(
        dict.fromkeys(name for right in missing for name in right.commands.split(", "))
    )
    say = failed if any(right.basic for right in missing) else warning
    return say(
        "rights",
        f"you may not {what} {where}, which {commands} need",
        fix,
    )
