"""The part of a DevServer's spec that its pods are made from.

A running server keeps the pods that it has: a change of this part is taken up at its next start.
The role records what the pods were made from, and the observer tells what has changed since.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

FIELDS = ("image", "flavor", "mode", "distributed", "sharedVolumeClaimName", "enableSSH")


def pod_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a stored spec that shapes pods; what the mode does not use is left out.

    >>> pod_spec({"image": "a", "mode": "standalone", "distributed": {}, "owner": "o"})
    {'image': 'a', 'mode': 'standalone'}
    """
    unused = set() if spec.get("mode") == "distributed" else {"distributed"}
    return {name: spec[name] for name in FIELDS if name in spec and name not in unused}


def shape(spec: Mapping[str, Any]) -> tuple[int, int]:
    """The number of pods, and of processes in each; standalone is a distributed server of size one.

    >>> shape({"mode": "distributed", "distributed": {"worldSize": 8, "nprocsPerNode": 4}})
    (2, 4)
    """
    if spec.get("mode", "standalone") != "distributed":
        return 1, 1
    per_node = int(spec["distributed"].get("nprocsPerNode", 1))
    return int(spec["distributed"]["worldSize"]) // per_node, per_node


def changes(spec: Mapping[str, Any], made_from: Mapping[str, Any]) -> list[str]:
    """The fields in which a spec differs from what the pods were made from, as people write them.

    >>> changes({"image": "b", "mode": "standalone"}, {"image": "a", "mode": "standalone"})
    ['spec.image']
    """
    wanted = pod_spec(spec)
    return [f"spec.{name}" for name in FIELDS if wanted.get(name) != made_from.get(name)]
