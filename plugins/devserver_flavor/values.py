"""The values for the role `devserver_flavor`: Kueue's view of a flavor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apply.values import Values

from devctl.api.labels import MANAGED_BY, MANAGER
from devctl.api.queues import FLAVOR_LABEL, label_value

# Kueue takes no more. Pods of servers have all of them from their template; pods of jobs get these.
_MOST = 8


def identity(flavor: Mapping[str, Any]) -> dict[str, str]:
    """The labels that identify what is created for a flavor."""
    return {MANAGED_BY: MANAGER, FLAVOR_LABEL: label_value(str(flavor["metadata"]["name"]))}


def values(flavor: Mapping[str, Any], *, kueue: Sequence[Mapping[str, Any]]) -> Values:
    """The values for the templates.

    Args:
        flavor: The DevServerFlavor.
        kueue: The CustomResourceDefinition of Kueue's ClusterQueues, if Kueue is installed.
    """
    name, spec = str(flavor["metadata"]["name"]), flavor["spec"]
    return Values({"kueue": bool(kueue), "name": name, "spec": resource_flavor(spec)})


def resource_flavor(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The spec of a ResourceFlavor, from that of a flavor.

    >>> resource_flavor({"nodeSelector": {"gpu": "t4"}, "resources": {}})
    {'nodeLabels': {'gpu': 't4'}}
    """
    made: dict[str, Any] = {}
    if labels := spec.get("nodeSelector"):
        made["nodeLabels"] = dict(sorted(labels.items())[:_MOST])
    if tolerations := spec.get("tolerations"):
        # With `Exists`, Kueue takes no value, not even an empty one.
        made["tolerations"] = [
            {field: value for field, value in toleration.items() if value != ""}
            for toleration in tolerations[:_MOST]
        ]
    return made
