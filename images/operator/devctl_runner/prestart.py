"""devctl-prestart: what ansible-operator does not do before it starts, so that it is back at once.

It is a new candidate at each start, also in the same container: after a kill it would wait 15 s for
the lease of the process that it replaces. And while the API server is away it ends again and again,
and the kubelet starts it later each time. All that has its time would be late.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kubernetes import client, config

from devctl_runner.api_server import when_answered

NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_REQUEST_SECONDS = 5


def main() -> int:
    """Do it for the operator with these arguments; whatever fails, the operator starts."""
    name = lease_name(sys.argv[1:])
    # Outside of a cluster nobody can say which process was ours.
    if not name or "KUBERNETES_SERVICE_HOST" not in os.environ:
        return 0
    try:
        namespace = NAMESPACE.read_text(encoding="utf-8").strip()
        configuration = client.Configuration()
        configuration.retries = False  # ours is the only count
        config.load_incluster_config(client_configuration=configuration)
    except (config.ConfigException, OSError) as error:
        return say(f"not looked at: {error}")
    api = client.CoordinationV1Api(client.ApiClient(configuration))
    return say(when_answered(lambda: release(api, namespace, name, os.uname().nodename)))


def say(line: str) -> int:
    """One line for the pod's log, if there is anything to say."""
    if line:
        print(f"devctl-prestart: {' '.join(line.split())}", file=sys.stderr)  # noqa: T201
    return 0


def lease_name(arguments: Sequence[str]) -> str:
    """The lease that an operator with these arguments waits for; empty without an election."""
    prefix = "--leader-election-id="
    names = [word.removeprefix(prefix) for word in arguments if word.startswith(prefix)]
    return names[-1] if names and "--leader-elect" in arguments else ""


def is_ours(holder: str, pod: str) -> bool:
    """Whether a lease's holder is a process of this pod: client-go names it `<pod>_<random>`."""
    return holder.startswith(f"{pod}_")


def release(api: Any, namespace: str, name: str, pod: str) -> str:
    """Make a lease nobody's, as client-go does at an orderly end, if a process of this pod has it.

    The kubelet starts a container only after its last one has ended, so that a holder of our own
    pod is dead for as long as the operator has not started.

    Args:
        api: A client's CoordinationV1Api.
        namespace: The lease's namespace.
        name: The lease's name.
        pod: Our pod's name.

    Returns:
        What has been done, for the log.

    Raises:
        kubernetes.client.ApiException: The server refuses: somebody else has it by now.
        urllib3.exceptions.HTTPError: It does not answer.
    """
    lease = api.read_namespaced_lease(name, namespace, _request_timeout=_REQUEST_SECONDS)
    if not is_ours(lease.spec.holder_identity or "", pod):
        return ""
    lease.spec.holder_identity = lease.spec.acquire_time = lease.spec.renew_time = None
    # With the version that was read.
    api.replace_namespaced_lease(name, namespace, lease, _request_timeout=_REQUEST_SECONDS)
    return f"{name}: let go what a dead process held"
