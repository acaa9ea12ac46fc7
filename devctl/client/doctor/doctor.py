"""All checks, in the order in which they depend on each other."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from devctl.client.doctor import checks
from devctl.client.doctor.checks import State, failed, ok, skipped
from devctl.errors import DeniedError, DevctlError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from devctl.client.doctor.checks import Finding
    from devctl.kube.cluster import Cluster

    Check = Callable[[Cluster], Finding]

_CHECKS: dict[str, Check] = {
    "reachability": checks.reachability,
    "credentials": checks.credentials,
    "versions": checks.versions,
    "clock": checks.clock,
    "kinds": checks.kinds,
    "rights": checks.rights,
    "operator": partial(checks.deployment, name="operator", otherwise="no request is handled"),
    "observer": partial(
        checks.deployment, name="observer", otherwise="every status is stale, and nothing expires"
    ),
    "storage": checks.storage,
    "flavor": checks.default_flavor,
    "image": checks.image,
    "queues": checks.queues,
}
_BASIC = {
    "reachability": "the API server cannot be reached",
    "credentials": "the API server does not know you",
}
"""Why later checks are skipped if one of these fails."""
_SEE_DOCTOR = re.compile("(^|; )[^;]*`devctl doctor`[^;]*")
"""Advice that some errors give and the reader has just followed."""


def examine(connect: Callable[[], Cluster]) -> Iterator[Finding]:
    """Run all checks and yield each result at once; `connect` reads the kubeconfig."""
    yield replace(checks.programs(), check="programs")
    try:
        cluster = connect()
    except DevctlError as error:
        yield replace(failed(error.message, error.fix), check="kubeconfig")
        yield from _skip(_CHECKS, "there is no kubeconfig to use")
        return
    who = f"user `{cluster.user}`, " if cluster.user else ""
    yield replace(ok(f"{who}namespace `{cluster.namespace}`, {cluster.server}"), check="kubeconfig")
    left = dict(_CHECKS)
    for name, check in _CHECKS.items():
        del left[name]
        yield (found := _run(name, check, cluster))
        if found.state is State.FAILED and name in _BASIC:
            yield from _skip(left, _BASIC[name])
            return


def _run(name: str, check: Check, cluster: Cluster) -> Finding:
    try:
        found = check(cluster)
    except DeniedError as error:
        found = skipped(f"you have no permission to check it: {error.message}", error.fix)
    except DevctlError as error:
        found = failed(error.message, _SEE_DOCTOR.sub("", error.fix).removeprefix("; "))
    return replace(found, check=name)


def _skip(names: Iterable[str], why: str) -> Iterator[Finding]:
    for name in names:
        yield replace(skipped(why), check=name)
