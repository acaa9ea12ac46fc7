"""What has become of a pod since it was last looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devctl.client.streams.exec_pod import container_status
from devctl.kube.failures import one_line

if TYPE_CHECKING:
    from devctl.kube.cluster import Object


def fate(before: Object, now: Object | None) -> str:
    """What has become of a pod and its container since; empty where they are as they were."""
    name = before["metadata"]["name"]
    if now is None:
        return f"pod `{name}` was deleted"
    if now["metadata"].get("uid") != before["metadata"].get("uid"):
        return f"pod `{name}` was deleted and recreated"
    status = now.get("status") or {}
    container = container_status(now)
    if status.get("phase") in {"Failed", "Succeeded"}:
        why = status.get("message") or status.get("reason") or _end(container, "no reason given")
        return f"pod `{name}` has ended: {one_line(str(why))}"
    same = container.get("containerID") == container_status(before).get("containerID")
    if same and "terminated" not in (container.get("state") or {}):
        return ""
    end = _end(container, "it was started anew")
    return f"the container of pod `{name}` has ended: {end}"


def _end(container: Object, unknown: str) -> str:
    ended = (container.get("state") or {}).get("terminated") or (
        container.get("lastState") or {}
    ).get("terminated")
    if not ended:
        return unknown
    if ended.get("reason") == "OOMKilled":
        return "it ran out of memory"
    return one_line(str(ended.get("message") or f"exit code {ended.get('exitCode')}"))
