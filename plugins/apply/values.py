"""The module of a kind, and the objects read for it besides the owner."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apply.errors import ApplyError, NotFoundError
from apply.manifests import Key, Kind, Manifest, kind_of
from apply.server.client import Cluster
from devctl.api.applied import Reason


@dataclass(frozen=True)
class Values:
    """What one run is to do.

    Attributes:
        names: The names that templates can use, with their values.
        remove: Objects to delete before anything is applied, as they were read. If one has changed
            since, it is kept, and the run fails as retryable.
        update_only: Objects that are applied if they exist, but not created.
    """

    names: Mapping[str, Any]
    remove: Sequence[Manifest] = ()
    update_only: frozenset[Key] = frozenset()


def load(name: str) -> Any:
    """`values.py` in the folder of a kind, with two pure functions of an owner.

    `identity` returns the labels that mark an object as the owner's. `values`, which also gets the
    other objects that were read, returns the Values of the run.

    Raises:
        ApplyError: It does not exist.
    """
    try:
        return importlib.import_module(f"{name}.values")
    except ImportError as error:
        raise ApplyError(Reason.TEMPLATE_ERROR, f"values of {name}: {error}") from error


def compute(name: str, owner: Mapping[str, Any], read: Mapping[str, Any]) -> Values:
    """Call a kind's `values`.

    Raises:
        ApplyError: It refuses, or fails.
    """
    try:
        found: Values = load(name).values(owner, **read)
    except ApplyError:
        raise
    except Exception as error:  # a bug of ours is reported to the owner, too
        message = f"values of {name}: {type(error).__name__}: {error}"
        raise ApplyError(Reason.TEMPLATE_ERROR, message) from error
    return found


def neighbours(
    cluster: Cluster,
    asked: Mapping[str, Any],
    identity: Mapping[str, str],
    read: Mapping[str, Sequence[Manifest]],
) -> list[Manifest]:
    """The objects of a kind that have the owner's identity; with `everywhere`, all of them.

    By labels: once the operator's proxy has answered a GET by name, it runs the role for every
    status that a controller writes. By name only where watches.yaml blacklists the kind.

    Args:
        cluster: Seen from the owner's namespace.
        asked: `apiVersion` and `kind`; `everywhere` for a cluster-scoped kind; `name` and
            `namespace`, if its kind has one, for one object that is not the owner's; `namespace`
            alone for the owner's objects in it; `named_by` for cluster-scoped objects whose
            names are in a field of earlier neighbours, such as `claims.spec.volumeName`.
        identity: The labels.
        read: The earlier neighbours.

    Raises:
        ApplyError: The server refused it, or cannot be reached.
    """
    try:
        kind = kind_of(asked)
    except KeyError as error:
        raise ApplyError(Reason.TEMPLATE_ERROR, f"a neighbour lacks {error}") from error
    if name := asked.get("name"):
        found = cluster.get(Key(kind, str(name), str(asked.get("namespace", ""))))
        return [found] if found else []
    if path := asked.get("named_by"):
        names = sorted(set(_named(read, str(path))))
        return [thing for name in names if (thing := cluster.get(Key(kind, name)))]
    if asked.get("everywhere"):
        return cluster.list(kind, {}, everywhere=True)
    return listed(cluster, kind, identity, str(asked.get("namespace", "")))


def _named(read: Mapping[str, Sequence[Manifest]], path: str) -> Iterator[str]:
    """What a field of some objects says, where it is set."""
    argument, *fields = path.split(".")
    for thing in read[argument]:
        value: Any = thing
        for field in fields:
            value = (value or {}).get(field)
        if value:
            yield str(value)


def listed(
    cluster: Cluster,
    kind: Kind,
    identity: Mapping[str, str],
    namespace: str = "",
    *,
    cached: bool = True,
) -> list[Manifest]:
    """The objects with an identity; none of a kind that is not installed, such as Kueue's."""
    try:
        return cluster.list(kind, identity, namespace=namespace, cached=cached)
    except NotFoundError:
        return []


def entries(values: Mapping[str, Any]) -> list[dict[str, str]]:
    """The entries of a container's `env`, escaped so that the kubelet leaves values unchanged.

    It would expand `$(NAME)`, and reads two dollar signs as one.

    >>> entries({"A": "$(HOME) $$"})
    [{'name': 'A', 'value': '$$(HOME) $$$$'}]
    """
    return [{"name": key, "value": str(value).replace("$", "$$")} for key, value in values.items()]
