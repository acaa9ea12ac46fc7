"""A cluster beside the tests' main one, whose effects on the host are looked at."""

from __future__ import annotations

import json
from typing import Any

from support import host_state
from support.commands import devctl, must
from support.tiers.prepare import CLUSTER

from devctl.local.paths import cluster_paths

NAME = f"{CLUSTER}-host"
FIRST = f"{NAME}-1"
Differences = dict[str, object]


class Host:
    """The host as it was before the cluster."""

    def __init__(self) -> None:
        """Forget an earlier one, and take a picture."""
        reset()
        self._before = host_state.take(NAME)

    def differences(self) -> Differences:
        """What is different by now."""
        return host_state.differences(self._before, host_state.take(NAME))


def up(*options: str) -> None:
    """Bring it up, or heal it."""
    must(devctl("local", "up", "--name", NAME, *options))


def down() -> None:
    """Take it down."""
    must(devctl("local", "down", "--name", NAME))


def reset() -> None:
    """Forget it, if there is anything of it."""
    if cluster_paths(NAME).settings.exists():
        must(devctl("local", "reset", "--name", NAME, "--confirm", NAME))


def nodes() -> list[dict[str, Any]]:
    """What `status` says of its nodes."""
    text = devctl("local", "status", "--name", NAME, "--output", "json").stdout
    found: list[dict[str, Any]] = json.loads(text)["nodes"]
    return found
