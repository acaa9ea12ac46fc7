"""Adding a local cluster to the user's kubeconfig, and removing it again.

Both raise DevctlError if a file is not a kubeconfig, and do not change it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import yaml

from devctl.errors import DevctlError

if TYPE_CHECKING:
    from pathlib import Path

_FIX = "fix it, or leave out --merge-kubeconfig"
_SECTIONS = {"clusters": "cluster", "users": "user", "contexts": "context"}


def merge(source: Path, target: Path, name: str) -> None:
    """Add the cluster of `source` to the kubeconfig `target`, atomically, and choose it."""
    own = yaml.safe_load(source.read_text())
    config: dict[str, Any] = {"apiVersion": "v1", "kind": "Config", "preferences": {}}
    config |= _without(_read(target), name) | {"current-context": name}
    for section, kind in _SECTIONS.items():
        # kubeadm names every cluster's user `kubernetes-admin`: they would overwrite each other.
        names = {"cluster": name, "user": name} if kind == "context" else {}
        config[section].append({"name": name, kind: own[section][0][kind] | names})
    _write(target, config)


def unmerge(target: Path, name: str) -> bool:
    """Remove the cluster from the kubeconfig `target`; returns whether it was in it."""
    config = _read(target)
    if not any(entry.get("name") == name for entry in config.get("contexts") or []):
        return False
    _write(target, _without(config, name))
    return True


def _without(config: dict[str, Any], name: str) -> dict[str, Any]:
    rest = {s: [e for e in config.get(s) or [] if e.get("name") != name] for s in _SECTIONS}
    current = "" if config.get("current-context") == name else config.get("current-context", "")
    return {**config, **rest, "current-context": current}


def _read(path: Path) -> dict[str, Any]:
    try:
        config = yaml.safe_load(path.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise DevctlError(f"`{path}` cannot be read: {error}", _FIX) from error
    if config is not None and not isinstance(config, dict):
        raise DevctlError(f"`{path}` is not a kubeconfig", _FIX)
    return config or {}


def _write(path: Path, config: dict[str, Any]) -> None:
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.touch(mode=0o600)
    partial.write_text(yaml.safe_dump(config, sort_keys=False))
    partial.replace(path)
