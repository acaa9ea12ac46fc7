"""The condition `WarmRunner` of the operator's pod; alerts can use `devctl_runner_warm`."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime

TYPE = "WarmRunner"
_REQUEST_SECONDS = 5


def condition(trouble: str, now: datetime) -> dict[str, str]:
    """The condition; `trouble` is why all runs go to the stock ansible-runner, or empty."""
    return {
        "type": TYPE,
        "status": "False" if trouble else "True",
        "reason": "Incompatible" if trouble else "Warm",
        "message": trouble,
        # Written only on start, which is always a transition.
        "lastTransitionTime": now.isoformat(timespec="seconds").replace("+00:00", "Z"),
    }


def publish(trouble: str, log: Callable[[str], None]) -> None:
    """Have a forked process write the condition, so that it can wait for the API server.

    Does nothing outside a pod, which POD_NAME and POD_NAMESPACE identify.
    """
    name, namespace = os.environ.get("POD_NAME"), os.environ.get("POD_NAMESPACE")
    if not name or not namespace:
        return
    if child := os.fork():
        os.waitpid(child, 0)
        return
    # A grandchild, which the pod's tini reaps: the daemon only waits for runs.
    try:
        if os.fork() == 0 and (said := _write(name, namespace, trouble)):
            log(f"condition {TYPE} not written: {said}")
    except Exception as error:  # noqa: BLE001 - runs work without it
        log(f"condition {TYPE} not written: {error!r}")
    finally:
        os._exit(0)


def _write(name: str, namespace: str, trouble: str) -> str:
    """Write it; returns why it could not."""
    from kubernetes import client, config  # noqa: PLC0415 - only in this process

    from devctl_runner.api_server import when_answered  # noqa: PLC0415

    configuration = client.Configuration()
    configuration.retries = False
    config.load_config(client_configuration=configuration)
    api = client.CoreV1Api(client.ApiClient(configuration))
    # A strategic merge patch, which keeps the pod's other conditions.
    status = {"status": {"conditions": [condition(trouble, datetime.now(UTC))]}}

    def patch() -> str:
        api.patch_namespaced_pod_status(name, namespace, status, _request_timeout=_REQUEST_SECONDS)
        return ""

    return when_answered(patch)
