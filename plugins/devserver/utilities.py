"""The ConfigMap of the scripts that every server's container has."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def utilities_name(scripts: Mapping[str, str]) -> str:
    """Its name, by its content: a release that has other scripts has another.

    >>> utilities_name({"start": "exec sleep infinity"})
    'devctl-utilities-699a9470e5'
    """
    text = json.dumps(dict(scripts), sort_keys=True)
    return f"devctl-utilities-{sha256(text.encode()).hexdigest()[:10]}"
