"""The part of a DevServer's spec that its pods are made from.

A running server keeps its pods: a change of this part takes effect at the next start. The role
records what the pods were made from, and the observer reports what has changed since.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

from devctl.api.defaults import SERVER, filled

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST = 100_000
"""Far more pods than the CRD allows, but few enough to fit into memory."""
HOOKS, ACTIVITY_PROBE = "lifecycle.hooks", "lifecycle.activityProbe"
FIELDS = (
    *("image", "flavor", "mode", "distributed", "sharedVolumeClaimName", "enableSSH"),
    *("team", "priority", HOOKS, ACTIVITY_PROBE),
)
"""Paths in the spec, which are keys of a record."""


def pod_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a stored spec that shapes pods; what the mode does not use is left out.

    Of hooks, it has digests: a record with their scripts would be too large for an annotation.

    >>> pod_spec({"image": "a", "mode": "standalone", "distributed": {}, "owner": "o"})
    {'image': 'a', 'mode': 'standalone'}
    """
    unused = set() if spec.get("mode") == "distributed" else {"distributed"}
    part = {name: spec[name] for name in FIELDS if name in spec and name not in unused}
    lifecycle = spec.get("lifecycle")
    lifecycle = lifecycle if isinstance(lifecycle, dict) else {}
    hooks, probe = lifecycle.get("hooks"), lifecycle.get("activityProbe")
    if isinstance(hooks, list) and hooks:
        part[HOOKS] = [_digested(hook) for hook in hooks]
    if isinstance(probe, dict):
        part[ACTIVITY_PROBE] = probe
    return part


def _digested(hook: Mapping[str, Any]) -> dict[str, Any]:
    """A hook with a digest instead of its script."""
    return {**hook, "script": sha256(str(hook.get("script", "")).encode()).hexdigest()[:32]}


def shape(spec: Mapping[str, Any]) -> tuple[int, int]:
    """The number of pods, and of processes in each; standalone is a distributed server of size one.

    Raises:
        ValueError: The schema would not allow it.

    >>> shape({"mode": "distributed", "distributed": {"worldSize": 8, "nprocsPerNode": 4}})
    (2, 4)
    """
    if spec.get("mode", "standalone") != "distributed":
        return 1, 1
    try:
        layout = spec["distributed"]
        per_node = int(layout.get("nprocsPerNode", 1))
        nodes = int(layout["worldSize"]) // per_node
    except (ArithmeticError, AttributeError, KeyError, TypeError) as error:
        raise ValueError("spec.distributed is not a layout") from error
    if not 1 <= nodes <= _MOST:
        raise ValueError(f"{nodes} pods are not possible")
    return nodes, per_node


def changes(spec: Mapping[str, Any], made_from: Mapping[str, Any]) -> list[str]:
    """The fields in which a spec differs from what the pods were made from, as people write them.

    >>> changes({"image": "b", "mode": "standalone"}, {"image": "a"})
    ['spec.image']
    """
    wanted, made = filled(pod_spec(spec), SERVER), filled(made_from, SERVER)
    return [f"spec.{name}" for name in FIELDS if wanted.get(name) != made.get(name)]
