"""devctl-prestart: prepares ansible-operator's start, so that it leads again immediately.

The operator is a new candidate on each start, even in the same container: after a kill it would
wait 15 s for the lease of the process that it replaces. And while the API server is unavailable, it
would exit repeatedly, and the kubelet would back off. Everything that is due would be late.
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
    """Release the lease of the operator with these arguments; the operator starts in any case."""
    name = lease_name(sys.argv[1:])
    # Outside a cluster, it is unknown which process was ours.
    if not name or "KUBERNETES_SERVICE_HOST" not in os.environ:
        return 0
    try:
        namespace = NAMESPACE.read_text(encoding="utf-8").strip()
        configuration = client.Configuration()
        configuration.retries = False  # `when_answered` retries
        config.load_incluster_config(client_configuration=configuration)
    except (config.ConfigException, OSError) as error:
        return say(f"lease `{name}` not checked: {error}")
    api = client.CoordinationV1Api(client.ApiClient(configuration))
    return say(when_answered(lambda: release(api, namespace, name, os.uname().nodename)))


def say(line: str) -> int:
    """Write a line to the pod's log, unless it is empty."""
    if line:
        print(f"devctl-prestart: {' '.join(line.split())}", file=sys.stderr)  # noqa: T201
    return 0


def lease_name(arguments: Sequence[str]) -> str:
    """The lease that an operator with these arguments waits for; empty without leader election."""
    prefix = "--leader-election-id="
    names = [word.removeprefix(prefix) for word in arguments if word.startswith(prefix)]
    return names[-1] if names and "--leader-elect" in arguments else ""


def is_ours(holder: str, pod: str) -> bool:
    """Whether a lease's holder is a process of this pod: client-go names it `<pod>_<random>`."""
    return holder.startswith(f"{pod}_")


def release(api: Any, namespace: str, name: str, pod: str) -> str:
    """Release a lease, as client-go does on a clean exit, if a process of this pod holds it.

    The kubelet starts a container only after the previous one has ended, so a holder in our own pod
    is dead until the operator starts.

    Args:
        api: A client's CoordinationV1Api.
        namespace: The lease's namespace.
        name: The lease's name.
        pod: Our pod's name.

    Returns:
        What has been done, for the log.

    Raises:
        kubernetes.client.ApiException: The server refuses, as when someone else has it by now.
        urllib3.exceptions.HTTPError: It does not respond.
    """
    lease = api.read_namespaced_lease(name, namespace, _request_timeout=_REQUEST_SECONDS)
    if not is_ours(lease.spec.holder_identity or "", pod):
        return ""
    lease.spec.holder_identity = lease.spec.acquire_time = lease.spec.renew_time = None
    # With the resourceVersion that was read.
    api.replace_namespaced_lease(name, namespace, lease, _request_timeout=_REQUEST_SECONDS)
    return f"{name}: released the lease of a dead process"
