"""One cluster, as one user sees it."""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx2
import lightkube
from lightkube.config.kubeconfig import KubeConfig
from lightkube.config.models import Cluster as _Server
from lightkube.core.resource import NamespacedResource, api_info
from lightkube.types import PatchType

from devctl.errors import DevctlError
from devctl.kube import resources
from devctl.kube.credentials import Login
from devctl.kube.failures import explained
from devctl.kube.kubeconfig import Access, find_access
from devctl.kube.transport import Authenticated

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from devctl.kube.credentials import Credentials

Object = dict[str, Any]
"""What the API server answers, as it is."""

EVERYWHERE = "*"
"""Instead of a namespace: all of them."""
WINDOW = 300.0
"""Seconds for which a watch lives where nobody says how long."""
FIELD_MANAGER = "devctl"
_PAGE = 500
_SLACK = 15.0
"""Seconds by which the API server may end a watch too late."""
_GONE = 410


class Change(NamedTuple):
    """What a watch tells: ADDED, MODIFIED or DELETED, and the object as it is since."""

    type: str
    object: Object


class Cluster:
    """The requests that devctl makes, for one user.

    Attributes:
        namespace: Where it acts where nobody says where.
        server: The address of the API server.
        user: What the kubeconfig calls the user.
        client: lightkube's client, for everything that it has a method for.

    Every method raises of devctl.errors what devctl.kube.failures tells of.
    """

    def __init__(self, access: Access, transport: httpx2.BaseTransport | None = None) -> None:
        """Ask nothing yet.

        Args:
            access: Which cluster, and as whom.
            transport: What carries the requests, for tests; else a network with TLS.
        """
        self.namespace = access.namespace
        self.server = access.server
        self.user = access.user_name
        self._login = Login(access)
        self._patience = httpx2.Timeout(30.0, connect=5.0)
        carrier = transport or Authenticated(self._login)
        # The transport does TLS and names the user; all that lightkube is told is the address.
        server = _Server(server=access.server, insecure=True)
        self.client = lightkube.Client(
            KubeConfig.from_one(cluster=server, user=_NOBODY, namespace=access.namespace),
            timeout=self._patience,
            field_manager=FIELD_MANAGER,
            trust_env=False,
            transport=carrier,
        )
        self._http = httpx2.Client(
            base_url=access.server, transport=carrier, timeout=self._patience, trust_env=False
        )
