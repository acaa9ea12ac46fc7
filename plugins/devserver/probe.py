"""How the script `probe` in a server's pods learns what to ask."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any


def probe_variables(probe: Mapping[str, Any] | None) -> dict[str, Any]:
    """The environment variables for an activity probe; none without one.

    >>> probe_variables({"httpGet": {"port": 80, "path": "/busy?a=1"}})["DEVCTL_PROBE"]
    "http 80 '/busy?a=1'"
    """
    if not probe:
        return {}
    if "exec" in probe:
        words = ["exec", *probe["exec"]["command"]]
    else:
        url = probe["httpGet"]
        words = ["http", str(url["port"]), url.get("path", "/")]
    return {
        "DEVCTL_PROBE": shlex.join(words),
        "DEVCTL_PROBE_PERIOD": probe.get("periodSeconds", 60),
        "DEVCTL_PROBE_TIMEOUT": probe.get("timeoutSeconds", 5),
    }
