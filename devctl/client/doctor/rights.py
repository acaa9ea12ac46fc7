"""What the user may do in their namespace."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from devctl.api.labels import GROUP
from devctl.client.doctor.finding import Finding, failed, ok, warning
from devctl.errors import DeniedError, NotFoundError
from devctl.kube import resources
from devctl.kube.rights import Right

if TYPE_CHECKING:
    from devctl.kube.cluster import Cluster


class Need(NamedTuple):
    """Something that commands need."""

    right: Right
    commands: str
    """What does not work without."""
    basic: bool = False
    """Whether nothing works without."""


NEEDS = (
    Need(Right("list", GROUP, "devservers"), "list", basic=True),
    Need(Right("get", GROUP, "devservers"), "describe", basic=True),
    Need(Right("watch", GROUP, "devservers"), "create --wait", basic=True),
    Need(Right("create", GROUP, "devservers"), "create", basic=True),
    Need(Right("patch", GROUP, "devservers"), "stop, start, extend"),
    Need(Right("delete", GROUP, "devservers"), "delete"),
    Need(Right("list", GROUP, "devserverflavors"), "flavors"),
    Need(Right("get", GROUP, "devserverflavors"), "create --flavor"),
    Need(Right("get", "", "pods"), "ssh, exec, run", basic=True),
    Need(Right("list", "", "pods"), "delete --wait, homes list"),
    Need(Right("watch", "", "pods"), "ssh"),
    Need(Right("get", "", "pods", "exec"), "ssh, exec, run, sync, cp"),
    Need(Right("create", "", "pods", "exec"), "ssh, exec, run, sync, cp"),
    Need(Right("get", "", "pods", "portforward"), "port-forward, jupyter"),
    Need(Right("create", "", "pods", "portforward"), "port-forward, jupyter"),
    Need(Right("list", "", "persistentvolumeclaims"), "homes list"),
    Need(Right("get", "", "persistentvolumeclaims"), "homes delete"),
    Need(Right("delete", "", "persistentvolumeclaims"), "homes delete"),
    Need(Right("list", "", "events"), "events"),
)
"""What the ClusterRole `devctl-user` gives, as far as commands need it."""
_FIX = "have an administrator bind the ClusterRole `devctl-user` to you in namespace `{}`"


def rights(cluster: Cluster) -> Finding:
    """Whether every command can do what it has to."""
    allowed = cluster.allowed([need.right for need in NEEDS])
    missing = [need for need, may in zip(NEEDS, allowed, strict=True) if not may]
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
    if all(need in missing for need in NEEDS if need.basic):
        return failed("rights", f"you have no rights {where}: no command works there", fix)
    what = ", ".join(str(need.right) for need in missing)
    commands = ", ".join(
        dict.fromkeys(name for need in missing for name in need.commands.split(", "))
    )
    say = failed if any(need.basic for need in missing) else warning
    return say(
        "rights",
        f"you may not {what} {where}, which {commands} need",
        fix,
    )
