"""Which cluster a command line names, and names in it for completion."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import click

KEY = "devctl.cli.where."
"""What the options of a place are kept under, in the meta of click's context."""

_PATIENCE = 5.0
"""Seconds after which a shell gets no names: a person who waits has typed on by then."""

_MOST = 500


def named(context: click.Context) -> dict[str, Any]:
    """What a command line says of the cluster, as arguments of `Client.connect`."""
    options = ("kubeconfig", "context", "namespace", "request_timeout")
    return {option: context.meta.get(KEY + option) for option in options}


def connection(context: click.Context) -> dict[str, Any]:
    """The same, with what the person prefers where the line says nothing.

    Raises:
        UsageError: The file with their defaults cannot be used.
    """
    from devctl.client.settings import preferred  # noqa: PLC0415 - names are needed alone, too

    found = named(context)
    # A context is one of a kubeconfig's, and another file is named.
    keys = ("namespace",) if found["kubeconfig"] else ("namespace", "context")
    return found | {key: found[key] or preferred(key)[0] for key in keys}


def servers(context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """Servers of the namespace that the command line names."""
    return _listed(context, "DevServer", begun)


def jobs(context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """Jobs of the namespace that the command line names."""
    return _listed(context, "EphemeralAccelerationJob", begun)


def flavors(context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """Flavors of the cluster."""
    return _listed(context, "DevServerFlavor", begun)


def namespaces(context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """Namespaces of the cluster, for those who may see them."""
    return _listed(context, "Namespace", begun)


def homes(context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """Claims of homes in the namespace that the command line names."""

    def look() -> list[str]:
        from devctl.client.client import Client  # noqa: PLC0415 - heavy

        return [home.name for home in Client.connect(**connection(context)).homes.list()]

    return _soon(look, begun)


def _listed(context: click.Context, kind: str, begun: str) -> list[str]:
    def look() -> list[str]:
        from devctl.client.client import Client  # noqa: PLC0415 - heavy
        from devctl.kube import resources  # noqa: PLC0415 - heavy

        cluster = Client.connect(**connection(context)).cluster
        return [str(item["metadata"]["name"]) for item in cluster.list(getattr(resources, kind))]

    return _soon(look, begun)


def _soon(look: Any, begun: str) -> list[str]:
    """Names that begin so; none where the cluster does not say, or not in time."""
    found: list[str] = []

    def run() -> None:
        # Nobody who completes a line wants to read what went wrong.
        with contextlib.suppress(Exception):
            found.extend(name for name in look() if name.startswith(begun))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(_PATIENCE)
    return found[:_MOST]
