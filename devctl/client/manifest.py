"""The manifest of a server, from what a person asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from devctl.api.devserver import NAME, NAME_RULE
from devctl.api.labels import GROUP, VERSION
from devctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from devctl.client.server import Server


class CreateOptions(TypedDict, total=False):
    """What can be asked for; what is left out gets the default of the kind's schema."""

    owner: str
    """Else the user."""
    flavor: str
    """Else the one that is marked as the default."""
    image: str
    """Else DEVCTL_IMAGE of the environment, else the cluster's."""
    distributed: bool
    """Whether it is several pods that train together; any of the next four means so, too."""
    replicas: int
    """How many pods."""
    world_size: int
    """How many processes in all; else one in each pod."""
    nproc_per_node: int
    """How many processes in each pod."""
    backend: str
    nccl: Mapping[str, str]
    """Variables of NCCL."""
    home_size: str
    shared: str
    """An existing claim, to be mounted at /shared."""
    ttl: int | str
    """How long after its creation it is deleted."""
    idle_timeout: int | str
    """How long it may be idle before it is stopped."""
    ssh: bool
    stopped: bool
    labels: Mapping[str, str]


_FIELDS = {
    "owner": "owner",
    "flavor": "flavor",
    "image": "image",
    "home_size": "persistentHomeSize",
    "shared": "sharedVolumeClaimName",
    "ssh": "enableSSH",
    "stopped": "stopped",
}
_SEVERAL = {"replicas", "world_size", "nproc_per_node", "backend", "nccl"}


def check_name(name: str) -> None:
    """See that a server can have a name.

    Raises:
        UsageError: It cannot.
    """
    if not NAME.fullmatch(name):
        raise UsageError(f"`{name}` cannot be a server's name", f"a name has to {NAME_RULE}")


def server_manifest(name: str, options: CreateOptions) -> dict[str, Any]:
    """The manifest of a server; fields that nobody asked for are left out.

    Raises:
        UsageError: The name is not valid, or the options do not go together.

    >>> server_manifest("lab", {"flavor": "cpu-small", "ssh": False})["spec"]
    {'flavor': 'cpu-small', 'enableSSH': False}
    >>> server_manifest("lab", {"replicas": 2, "nproc_per_node": 4})["spec"]["distributed"]
    {'worldSize': 8, 'nprocsPerNode': 4}
    """
    check_name(name)
    given: Mapping[str, Any] = options
    spec: dict[str, Any] = {
        field: given[option] for option, field in _FIELDS.items() if option in given
    }
    if options.get("distributed") or _SEVERAL & given.keys():
        spec["mode"] = "distributed"
        spec["distributed"] = _distributed(options)
    if lifecycle := lifecycle_of(options.get("ttl"), options.get("idle_timeout")):
        spec["lifecycle"] = lifecycle
    metadata: dict[str, Any] = {"name": name}
    if labels := options.get("labels"):
        metadata["labels"] = dict(labels)
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "DevServer",
        "metadata": metadata,
        "spec": spec,
    }


def changed_spec(server: Server, options: CreateOptions) -> dict[str, Any]:
    """What is to change in a server's spec; what is left out stays as it is.

    Raises:
        UsageError: The options do not go together, or there are none.
    """
    asked: Any = dict(options)
    if _SEVERAL & asked.keys():
        there = server.spec.get("distributed") or {}
        asked.setdefault("nproc_per_node", there.get("nprocsPerNode", 1))
        if not {"replicas", "world_size"} & asked.keys():
            asked["replicas"] = server.size
    spec: dict[str, Any] = server_manifest(server.name, asked)["spec"]
    if not spec:
        raise UsageError("nothing to change", f"see `devctl update {server.name} --help`")
    return spec


def lifecycle_of(ttl: int | str | None, idle: int | str | None) -> dict[str, Any]:
    """The block `lifecycle`: when a server goes, and when it stops.

    >>> lifecycle_of(None, "90m")
    {'idleTimeout': '90m', 'autoShutdown': True}
    """
    found: dict[str, Any] = {} if ttl is None else {"timeToLive": ttl}
    if idle is not None:
        found |= {"idleTimeout": idle, "autoShutdown": True}
    return found


def _distributed(options: CreateOptions) -> dict[str, Any]:
    if options.get("distributed") is False:
        raise UsageError(
            "a server of one pod has no ranks to spread", "add --distributed, or leave them out"
        )
    processes = options.get("nproc_per_node", 1)
    world = _world_size(options, processes)
    found: dict[str, Any] = {"worldSize": world}
    if "nproc_per_node" in options:
        found["nprocsPerNode"] = processes
    if "backend" in options:
        found["backend"] = options["backend"]
    if nccl := options.get("nccl"):
        found["ncclSettings"] = dict(nccl)
    return found


def _world_size(options: CreateOptions, processes: int) -> int:
    replicas, world = options.get("replicas"), options.get("world_size")
    for what, number in (("replica", replicas), ("process", processes), ("process", world)):
        if number is not None and number < 1:
            raise UsageError(f"{number} is not a number of {what}s", "name 1 or more")
    if world is None:
        if replicas is None:
            raise UsageError(
                "it is not said how many pods the server is to have",
                "name it with --replicas, or all processes with --world-size",
            )
        return replicas * processes
    if world % processes:
        raise UsageError(
            f"{world} processes cannot be spread over pods of {processes}",
            "let --world-size be a multiple of --nproc-per-node",
        )
    if replicas is not None and replicas * processes != world:
        raise UsageError(
            f"{replicas} pods of {processes} have {replicas * processes} processes, not {world}",
            "leave out --replicas or --world-size",
        )
    return world
