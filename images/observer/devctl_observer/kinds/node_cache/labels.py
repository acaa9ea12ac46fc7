"""Which labels a node is to have for what its cache holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from devctl.api.node_cache import PREFIX, READY, label_of
from devctl_observer.judging.caches import contents_of


def wanted(status: Mapping[str, Any]) -> dict[str, str]:
    """The labels for a status: of everything that is there as the plan wants it.

    >>> wanted({"models": [{"name": "opt", "status": "ready", "present": True}]})
    {'cache.canhazgpu.dev/model.opt': 'ready'}
    """
    contents = contents_of({"status": status})
    return {label_of(*name): READY for name, cached in contents.items() if cached.ready}


def ours(labels: Mapping[str, str]) -> dict[str, str]:
    """Those of a node's labels that say what it has."""
    return {key: value for key, value in labels.items() if key.startswith(PREFIX)}


def change(labels: Mapping[str, str], wants: Mapping[str, str]) -> dict[str, str | None]:
    """What to set, and with None what to remove, of a node's labels; no other one is in it.

    >>> change({"gpu": "a", "cache.canhazgpu.dev/git.x": "ready"}, {})
    {'cache.canhazgpu.dev/git.x': None}
    """
    have = ours(labels)
    removed: dict[str, str | None] = dict.fromkeys(sorted(have.keys() - wants.keys()))
    return removed | {key: wants[key] for key in sorted(wants) if have.get(key) != wants[key]}
