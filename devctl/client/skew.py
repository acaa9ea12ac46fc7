"""Whether devctl here and in the cluster are of releases that go together."""

from __future__ import annotations

import os
import re
import time
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from devctl.client.doctor.checks import own_version
from devctl.client.settings import installed_version

if TYPE_CHECKING:
    from devctl.kube.cluster import Cluster

_DAY = 24 * 3600.0
_VERSION = re.compile(r"(\d{1,6})\.(\d{1,6})(?:[.+-].*)?", re.ASCII)


def apart(here: str, there: str) -> bool:
    """Whether two releases are more than a minor version apart; not, where one cannot be read.

    >>> apart("0.3.0", "0.2.9"), apart("0.3.0", "0.1.0"), apart("1.0.0", "0.9.0"), apart("x", "1.0")
    (False, True, True, False)
    """
    one, other = _VERSION.fullmatch(here), _VERSION.fullmatch(there)
    if not one or not other:
        return False
    return one[1] != other[1] or abs(int(one[2]) - int(other[2])) > 1


def skew(cluster: Cluster) -> str:
    """What to say of the two releases; empty where they go together."""
    here, there = own_version(), installed_version(cluster)
    if not apart(here, there):
        return ""
    return f"devctl here is {here}, in the cluster {there}: have the older one upgraded"


def due(server: str) -> bool:
    """Whether a day has passed since a cluster was last asked; it then counts as asked.

    Args:
        server: The address of the API server.
    """
    folder = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    file = Path(folder) / "devctl" / "skew" / sha256(server.encode()).hexdigest()[:16]
    try:
        if file.exists() and 0 <= time.time() - file.stat().st_mtime < _DAY:
            return False
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    except OSError:
        # Where nothing can be remembered, it would be said each time.
        return False
    return True
