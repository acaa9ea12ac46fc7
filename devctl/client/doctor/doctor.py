"""All that is looked at, in the order in which one thing rests on another."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from devctl.client.doctor import installation, machine, offers, rights, server
from devctl.client.doctor.finding import State, failed, ok, skipped
from devctl.errors import DeniedError, DevctlError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from devctl.client.doctor.finding import Finding
    from devctl.kube.cluster import Cluster

    Check = Callable[[Cluster], Finding]

_CHECKS: dict[str, Check] = {
    "versions": server.versions,
    "clock": server.clock,
    "kinds": installation.kinds,
    "rights": rights.rights,
    "operator": installation.operator,
    "observer": installation.observer,
    "storage": installation.storage,
    "flavor": offers.default_flavor,
    "image": offers.image,
}
"""What is asked of a cluster that can be reached and knows the user."""
_SEE_DOCTOR = re.compile("(; )?see `devctl doctor`(; )?")
"""What the fixes of some errors name, and who reads this has just done."""


def examine(connect: Callable[[], Cluster]) -> Iterator[Finding]:
    """Look at everything; each finding comes as soon as it is known.

    Args:
        connect: Reads the kubeconfig.
    """
    yield machine.programs()
    try:
        cluster = connect()
    except DevctlError as error:
        yield failed("kubeconfig", error.message, error.fix)
        names = ["reachability", "credentials", *_CHECKS]
        yield from _not_looked_at(names, "there is no kubeconfig to go by")
        return
    who = f"user `{cluster.user}`, " if cluster.user else ""
    yield ok("kubeconfig", f"{who}namespace `{cluster.namespace}`, {cluster.server}")
    reached = _looked_at("reachability", server.reachability, cluster)
    yield reached
    if reached.state is State.FAILED:
        names = ["credentials", *_CHECKS]
        yield from _not_looked_at(names, "the API server cannot be reached")
        return
    known = _looked_at("credentials", server.credentials, cluster)
    yield known
    if known.state is State.FAILED:
        yield from _not_looked_at(list(_CHECKS), "the API server does not know you")
        return
    for name, check in _CHECKS.items():
        yield _looked_at(name, check, cluster)


def _looked_at(name: str, check: Check, cluster: Cluster) -> Finding:
    try:
        return check(cluster)
    except DeniedError as error:
        return skipped(name, f"you may not see it: {error.message}", error.fix)
    except DevctlError as error:
        return failed(name, error.message, _SEE_DOCTOR.sub("", error.fix))


def _not_looked_at(names: list[str], why: str) -> Iterator[Finding]:
    for name in names:
        yield skipped(name, why)
