"""What a kind's own module says, and what is read for it beside its owner."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apply.errors import ApplyError
from apply.manifests import Key, Manifest, kind_of
from apply.server.client import Cluster
from devctl.api.applied import Reason


@dataclass(frozen=True)
class Values:
    """What one run is to do.

    Attributes:
        names: What the templates print, by name.
        remove: Objects that are to go, as they were read: they are deleted before anything is
            applied. One that has changed since is left, and the run fails as retryable.
        update_only: What is applied if it exists, and not made.
    """

    names: Mapping[str, Any]
    remove: Sequence[Manifest] = ()
    update_only: frozenset[Key] = frozenset()


def load(name: str) -> Any:
    """`values.py` in the folder of a kind, with two functions of an owner that ask nobody.

    `identity` gives the labels that say that an object is the owner's. `values`, which also gets
    what was read beside the owner, gives the Values of the run.

    Raises:
        ApplyError: There is none.
    """
    try:
        return importlib.import_module(f"{name}.values")
    except ImportError as error:
        raise ApplyError(Reason.TEMPLATE_ERROR, f"values of {name}: {error}") from error


def compute(name: str, owner: Mapping[str, Any], read: Mapping[str, Any]) -> Values:
    """What a kind's function says.

    Raises:
        ApplyError: It refuses, or fails.
    """
    try:
        found: Values = load(name).values(owner, **read)
    except ApplyError:
        raise
    except Exception as error:  # the owner is told of a mistake of ours, too
        message = f"values of {name}: {type(error).__name__}: {error}"
        raise ApplyError(Reason.TEMPLATE_ERROR, message) from error
    return found


def neighbours(
    cluster: Cluster, asked: Mapping[str, Any], identity: Mapping[str, str]
) -> list[Manifest]:
    """The objects of a kind that carry the owner's identity, or all where it has no namespaces.

    By labels, never by name: where the operator's proxy answers for an object by name, it begins
    to run the role for each status that a controller writes.

    Args:
        cluster: Seen from the owner's namespace.
        asked: `apiVersion` and `kind`; and `everywhere`, for a kind that is in no namespace.
        identity: The labels.

    Raises:
        ApplyError: The server refused it, or cannot be reached.
    """
    try:
        kind = kind_of(asked)
    except KeyError as error:
        raise ApplyError(Reason.TEMPLATE_ERROR, f"a neighbour lacks {error}") from error
    if asked.get("everywhere"):
        return cluster.list(kind, {}, everywhere=True)
    return cluster.list(kind, identity)


def entries(values: Mapping[str, Any]) -> list[dict[str, str]]:
    """The entries of a container's `env`, which the kubelet hands on as they were.

    It would put a variable in the place of `$(NAME)`, and reads two dollars as one.

    >>> entries({"A": "$(HOME) $$"})
    [{'name': 'A', 'value': '$$(HOME) $$$$'}]
    """
    return [{"name": key, "value": str(value).replace("$", "$$")} for key, value in values.items()]
