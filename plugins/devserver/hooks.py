"""How a server's hooks get into its pods, and the grace period that they need."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from devctl.api.durations import parse_duration
from devctl.api.hooks import GRACE_SECONDS
from devctl.api.pod_spec import HOOKS, pod_spec

LIST = "list"
"""The file that names the hooks in order, each with its timeout in seconds."""


class Hooks(NamedTuple):
    """What the templates render of a server's hooks."""

    names: str = ""
    """Separated by commas; empty if there are none."""
    config_map: str = ""
    """The ConfigMap that pods mount."""
    files: Mapping[str, str] = {}
    """Its content; empty if it is not to be applied."""
    grace: int = GRACE_SECONDS
    """Seconds."""


def hooks_of(server: Mapping[str, Any], made: Mapping[str, Any]) -> Hooks:
    """The hooks of the pods of a server.

    The record of what pods were created from has no scripts. While the spec has others, the
    ConfigMap is left as it was applied when they started.

    Args:
        server: The DevServer.
        made: The part of a spec that its pods are created from.
    """
    hooks = made.get(HOOKS)
    if not hooks:
        return Hooks()
    live = server["spec"]
    is_live = pod_spec(live).get(HOOKS) == hooks
    wanted = is_live and not live.get("stopped", False)
    return Hooks(
        names=",".join(hook["name"] for hook in hooks),
        config_map=config_map_name(server["metadata"]["name"], hooks),
        files=_files(live["lifecycle"]["hooks"]) if wanted else {},
        grace=GRACE_SECONDS + sum(map(_seconds, hooks)),
    )


def config_map_name(server: str, hooks: Iterable[Mapping[str, Any]]) -> str:
    """The name of the ConfigMap with some hooks, derived from its content.

    >>> config_map_name("lab", [{"name": "save", "script": "a1b2", "timeout": "30s"}])
    'lab-hooks-238afdcc7a'
    """
    text = json.dumps(list(hooks), sort_keys=True)
    return f"{server}-hooks-{sha256(text.encode()).hexdigest()[:10]}"


def _files(hooks: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    hooks = list(hooks)
    lines = (f"{hook['name']} {_seconds(hook)}\n" for hook in hooks)
    return {LIST: "".join(lines)} | {f"{hook['name']}.hook": hook["script"] for hook in hooks}


def _seconds(hook: Mapping[str, Any]) -> int:
    """The timeout of a hook, which the API server has filled in."""
    return int(parse_duration(hook.get("timeout", "30s")).total_seconds())
