"""The defaults in the schemas of our kinds.

A record holds a spec as it was stored. A field that a later release adds with a default is missing
there, which is not a change.
"""

from __future__ import annotations

from typing import Any

SERVER: dict[str, Any] = {
    "mode": "standalone",
    "distributed": {"nprocsPerNode": 1, "backend": "nccl"},
    "enableSSH": True,
}
"""Those of a DevServer's fields that shape pods."""

FLAVOR: dict[str, Any] = {"tolerations": [{"operator": "Equal"}]}
"""Those of a DevServerFlavor's fields that shape pods; a list has the defaults of its items."""


def filled(value: Any, defaults: Any) -> Any:
    """A value with the defaults of its schema; absent objects stay absent.

    >>> filled({"distributed": {"worldSize": 2}}, {"distributed": {"backend": "nccl"}})
    {'distributed': {'backend': 'nccl', 'worldSize': 2}}
    >>> filled([{"key": "gpu"}], [{"operator": "Equal"}])
    [{'operator': 'Equal', 'key': 'gpu'}]
    >>> filled({}, {"mode": "standalone", "distributed": {"backend": "nccl"}})
    {'mode': 'standalone'}
    """
    if isinstance(value, dict) and isinstance(defaults, dict):
        plain = {name: v for name, v in defaults.items() if not isinstance(v, (dict, list))}
        return {name: filled(v, defaults.get(name)) for name, v in (plain | value).items()}
    if isinstance(value, list) and isinstance(defaults, list):
        return [filled(item, defaults[0]) for item in value]
    return value
