"""The lifecycle of a local cluster: create, start, stop, delete."""

from __future__ import annotations

import json
import shutil
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from devctl.errors import HostError, NotFoundError, ReportedError, UsageError
from devctl.local import apt, machine, network, playbook, supervisor
from devctl.local.lock import hold
from devctl.local.parts import choose, load_parts
from devctl.local.paths import ClusterPaths, cache_paths, cluster_names, cluster_paths, state_folder
from devctl.local.settings import (
    Claim,
    ClusterSettings,
    Ranges,
    WantedRanges,
    check_name,
    check_node_count,
    check_ranges,
    choose_ranges,
    load_settings,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

DEFAULT_NODES = 2


def resolve(
    stored: ClusterSettings | None,
    name: str,
    node_count: int | None,
    wanted: WantedRanges,
    claims: Iterable[Claim],
) -> ClusterSettings:
    """The settings: those of an existing cluster, or requested ones and ranges without claims.

    Raises:
        UsageError: The request contradicts the settings of an existing cluster.
        HostError: A range is in use.
    """
    if stored is not None:
        have = stored.ranges
        if any(new is not None and new != old for new, old in zip(wanted, have, strict=True)):
            raise UsageError(
                f"cluster `{name}` exists with other address ranges",
                f"leave them out, or forget the cluster with `devctl local reset --name {name}`",
            )
        if node_count is not None and node_count < stored.node_count:
            raise UsageError(
                f"cluster `{name}` has {stored.node_count} nodes; nodes cannot be taken away",
                f"forget the cluster with `devctl local reset --name {name}`",
            )
        check_ranges(have, claims)
        return replace(stored, node_count=node_count or stored.node_count)
    claims = list(claims)
    given = [Claim(network, "an option") for network in wanted if network is not None]
    free = choose_ranges([*claims, *given]) if None in wanted else Ranges(*(w for w in wanted if w))
    ranges = Ranges(*(new or old for new, old in zip(wanted, free, strict=True)))
    settings = ClusterSettings(name, DEFAULT_NODES if node_count is None else node_count, *ranges)
    check_ranges(ranges, claims)
    return settings


def up(
    name: str,
    node_count: int | None,
    wanted: WantedRanges,
    added: Iterable[str] = (),
    removed: Iterable[str] = (),
) -> ClusterSettings:
    """Create, start or repair a cluster.

    Args:
        name: The cluster's name.
        node_count: The requested number of nodes.
        wanted: The requested ranges.
        added: The optional parts to add to those that it has, by name.
        removed: The optional parts to remove, by name.

    Raises:
        UsageError: The name, the number of nodes, the ranges or the parts are not possible.
        HostError: This machine cannot carry it.
        BusyError: Another command is changing it.
        StepError: A step failed.
    """
    check_name(name)
    if node_count is not None:
        check_node_count(node_count)
    machine.check_caller()
    paths, cache = cluster_paths(name), cache_paths()
    apt.host_sources()
    with ExitStack() as changing:
        # Two new clusters at once must not choose the same addresses.
        with hold(state_folder() / "lock", "the choice of addresses", on_wait=lambda _: None):
            stored = load_settings(paths.settings)
            parts = choose(stored.parts if stored else (), added, removed, load_parts())
            settings = resolve(stored, name, node_count, wanted, _claims_of_others(stored))
            settings = replace(settings, parts=parts)
            if supervisor.running_pid(paths) is None:
                cached = any(cache.programs.glob("kubernetes-*"))
                machine.check_host(settings.node_count, cached=cached)
            changing.enter_context(_changing(settings, paths))
            paths.settings.write_text(json.dumps(settings.to_json(), indent=2))
        _run("local-up.yml", settings, paths)
    return settings


def down(name: str) -> None:
    """Stop a cluster; its data is kept.

    Raises:
        NotFoundError: There is no such cluster.
        BusyError: Another command is changing it.
        StepError: Something could not be removed.
    """
    machine.check_caller()
    settings, paths = existing(name)
    with _changing(settings, paths):
        _run("local-down.yml", settings, paths)


def reset(name: str) -> None:
    """Stop a cluster and delete its data; raises what `down` raises."""
    down(name)
    settings, paths = existing(name)
    with _changing(settings, paths):
        shutil.rmtree(paths.root)


def existing(name: str) -> tuple[ClusterSettings, ClusterPaths]:
    """The settings and paths of a cluster; raises NotFoundError if it was never created."""
    check_name(name)
    paths = cluster_paths(name)
    settings = load_settings(paths.settings)
    if settings is None:
        others = ", ".join(f"`{n}`" for n in cluster_names())
        raise NotFoundError(
            f"there is no local cluster `{name}`",
            f"there is {others}: add `--name`" if others else "create it with `devctl local up`",
        )
    return settings, paths


@contextmanager
def _changing(settings: ClusterSettings, paths: ClusterPaths) -> Iterator[None]:
    """Hold the lock of a cluster that is ours, with no processes of earlier runs."""
    name, owner = settings.name, network.owner(settings)
    # If the other cluster's folder was deleted, only remains of it are left to clean up.
    if owner not in {"", network.mark(paths)} and ClusterPaths(Path(owner)).run.is_dir():
        folder = Path(owner).parents[1]
        raise HostError(
            f"another cluster `{name}` is up on this machine, from the state folder `{folder}`",
            f"choose another name with `--name`, or take it down:"
            f" `DEVCTL_STATE_DIR={folder} devctl local down --name {name}`",
        )
    with hold(paths.lock, f"cluster `{name}`"):
        playbook.end_leftovers(name)
        try:
            yield
        finally:
            playbook.end_leftovers(name)


def _run(name: str, settings: ClusterSettings, paths: ClusterPaths) -> None:
    if playbook.run(name, playbook.inventory(settings, paths), paths.root, run_of=settings.name):
        raise ReportedError(f"{name} failed")


def _claims_of_others(own: ClusterSettings | None) -> list[Claim]:
    """The ranges in use by the host, except by this cluster, and by other clusters."""
    claims = network.read_claims() if shutil.which("ip") else []
    if own is not None:
        claims = [c for c in claims if not c.interface.startswith(own.bridge)]
    for name in cluster_names():
        other = load_settings(cluster_paths(name).settings)
        if other is not None and (own is None or other.name != own.name):
            holder = f"the local cluster `{name}`"
            claims += [Claim(each, holder) for each in other.ranges]
    return claims
