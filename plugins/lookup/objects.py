"""Lookup plugin: objects that a role has to know before it renders, its neighbours.

It runs in Ansible's own process and on the client that `apply` uses; through the operator's proxy
it is answered from the operator's cache. kubernetes.core's lookup asks the API server what kinds
there are, in each run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ansible.plugins.lookup import LookupBase
from apply.client import Cluster
from apply.connection import connect
from apply.manifests import Key, Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

DOCUMENTATION = """
name: objects
short_description: Objects of a kind, by name or by labels
description: A list with the objects found; an object that does not exist is an empty list.
options:
  _terms: {description: apiVersion and kind, required: true}
  namespace: {description: Where they are; not for kinds without one, type: str, default: ""}
  name: {description: The name of the one that is looked for, type: str}
  labels: {description: Labels that all of them carry, type: dict, default: {}}
"""


class LookupModule(LookupBase):
    """Reads, and never writes."""

    def run(
        self, terms: Sequence[str], variables: dict[str, Any] | None = None, **options: Any
    ) -> list[dict[str, Any]]:
        """The objects.

        Raises:
            ApplyError: The API server refused it, or cannot be reached.
        """
        self.set_options(var_options=variables, direct=options)
        api_version, kind = terms
        name = self.get_option("name")
        with connect() as client:
            cluster = Cluster(client, namespace=self.get_option("namespace"), field_manager="none")
            if name is None:
                return cluster.list(Kind(api_version, kind), self.get_option("labels"))
            found = cluster.get(Key(Kind(api_version, kind), name))
        return [found] if found else []
