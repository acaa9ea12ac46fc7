"""The cluster that a command line chooses, and completion of names in it."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import click

    from devctl.client.client import Client

    Completion = Callable[[click.Context, click.Parameter, str], list[str]]

KEY = "devctl.cli.where."
"""The prefix of the options' keys in the meta of click's context."""
_PATIENCE = 5.0
"""Seconds after which a shell gets no names: people have typed on by then."""
_MOST = 500


def named(context: click.Context) -> dict[str, Any]:
    """What a command line says of the cluster, as arguments of `Client`."""
    options = ("kubeconfig", "context", "namespace", "request_timeout")
    return {option: context.meta.get(KEY + option) for option in options}


def connection(context: click.Context) -> dict[str, Any]:
    """The same, completed by the person's preferences.

    Raises:
        UsageError: The file with their preferences cannot be used.
    """
    from devctl.client.settings import preferred  # noqa: PLC0415 - `named` needs none

    found = named(context)
    # The preferred context belongs to the default kubeconfig.
    keys = ("namespace",) if found["kubeconfig"] else ("namespace", "context")
    return found | {key: found[key] or preferred(key)[0] for key in keys}


def _completion(names: Callable[[Client], Iterable[str]]) -> Completion:
    """Complete with names from the cluster; with none if it fails or takes too long."""

    def complete(context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
        found: list[str] = []

        def look() -> None:
            # An error message would only disturb the line being completed.
            with contextlib.suppress(Exception):
                from devctl.client.client import Client  # noqa: PLC0415 - not for --help

                there = names(Client(**connection(context)))
                found.extend(name for name in there if name.startswith(begun))

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        thread.join(_PATIENCE)
        return found[:_MOST]

    return complete


def _of_kind(kind: str) -> Completion:
    def names(client: Client) -> Iterable[str]:
        from devctl.kube import resources  # noqa: PLC0415 - heavy

        listed = client.cluster.list(getattr(resources, kind))
        return (str(item["metadata"]["name"]) for item in listed)

    return _completion(names)


def _every_job(client: Client) -> Iterable[str]:
    from devctl.cli.jobs.either import every  # noqa: PLC0415 - heavy

    return dict.fromkeys(job.name for job in every(client))


servers = _of_kind("DevServer")
jobs = _of_kind("EphemeralAccelerationJob")
vllm_runs = _of_kind("VLLMRun")
cache_items = _completion(lambda client: [item.name for item in client.cache.items()])
every_job = _completion(_every_job)
flavors = _completion(lambda client: [f.name for f in client.flavors.list() if not f.cordoned])
cordoned_flavors = _completion(lambda client: [f.name for f in client.flavors.list() if f.cordoned])
namespaces = _of_kind("Namespace")
homes = _completion(lambda client: [home.name for home in client.homes.list()])
users = _of_kind("DevServerUser")
teams = _of_kind("DevServerTeam")
