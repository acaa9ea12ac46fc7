"""A WebSocket to one of the streams that a pod has."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from devctl.errors import WaitTimeoutError
from devctl.kube.failures import parse_status, refusal, unreachable
from devctl.kube.handshake import RefusedError, shake_hands
from devctl.kube.websocket import ConnectionLostError, WebSocket

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.kube.cluster import Cluster

__all__ = ["ConnectionLostError", "connect_pod"]

_UNAUTHORIZED = 401


def connect_pod(  # noqa: PLR0913, PLR0917 - a request's parts
    cluster: Cluster,
    pod: str,
    stream: str,
    query: Sequence[tuple[str, str]],
    protocols: Sequence[str],
    namespace: str | None = None,
) -> WebSocket:
    """Open one of a pod's streams.

    Args:
        cluster: Where the pod is.
        pod: Its name.
        stream: Which: exec or portforward.
        query: What of it.
        protocols: What is spoken over it, one of them.
        namespace: The pod's namespace; else the user's.

    Raises:
        NotFoundError: There is no such pod.
        DeniedError: The user may not.
        WaitTimeoutError: No answer came in time.
        DevctlError: There is no connection.
    """
    where = f"namespaces/{quote(namespace or cluster.namespace, safe='')}"
    path = f"/api/v1/{where}/pods/{quote(pod, safe='')}/{stream}"
    # Arguments may hold bytes that are no text: they travel as they are.
    url = f"{cluster.server}{path}?{urlencode(query, errors='surrogateescape')}"
    try:
        return _connect(cluster, url, protocols, f"pod `{pod}`")
    except RefusedError as error:
        raise refusal(parse_status(error.code, error.body)) from error
    except TimeoutError as error:
        raise WaitTimeoutError(
            f"{cluster.server} does not answer in time", "try again; see `devctl doctor`"
        ) from error
    except OSError as error:
        raise unreachable(cluster.server, error) from error


def _connect(cluster: Cluster, url: str, protocols: Sequence[str], about: str) -> WebSocket:
    try:
        connection, leftover = shake_hands(url, cluster.credentials(), protocols)
    except RefusedError as error:
        if error.code != _UNAUTHORIZED or not cluster.renew_credentials():
            raise
        connection, leftover = shake_hands(url, cluster.credentials(), protocols)
    return WebSocket(connection, about, leftover)
