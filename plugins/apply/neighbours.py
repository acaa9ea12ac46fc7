"""What a run reads beside its owner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apply.errors import ApplyError
from apply.manifests import Manifest, kind_of
from devctl.api.applied import Reason

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apply.client import Cluster


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
