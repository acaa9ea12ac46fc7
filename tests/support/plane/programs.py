"""The programs that a plane is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devctl.local.lock import hold
from devctl.local.paths import cache_paths
from devctl.local.programs import build_group, ensure_go, load_groups

if TYPE_CHECKING:
    from pathlib import Path

GROUPS = ("kubernetes", "ansible-operator", "kueue")


def ensure_programs() -> dict[str, Path]:
    """Build what is missing; returns the folder of each group's programs."""
    cache = cache_paths()
    with hold(cache.lock, "the cache of programs and images", print):
        go = ensure_go(cache)
        groups = load_groups(go.version)
        return {name: build_group(groups[name], go, cache, print) for name in GROUPS}
