"""A local cluster as a whole: create, bring up, take down, forget."""

from __future__ import annotations

import json
import shutil
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from devctl.errors import HostError, NotFoundError, ReportedError, UsageError
from devctl.local import apt, leftovers, network, playbook, preflight, supervisor
from devctl.local.inventory import inventory
from devctl.local.lock import hold
from devctl.local.paths import ClusterPaths, cache_paths, cluster_names, cluster_paths, state_folder
from devctl.local.ranges import Claim, Ranges, WantedRanges, check_ranges, choose_ranges
from devctl.local.settings import ClusterSettings, check_name, check_node_count, load_settings

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
    """What the cluster is to be: what is stored, what is asked for, and free ranges for the rest.

    Args:
        stored: The settings of a cluster that exists.
        name: Its name.
        node_count: The number of nodes asked for.
        wanted: The node, pod and service range asked for.
        claims: The ranges that the host and other clusters use.

    Raises:
        UsageError: Something asked for differs from what an existing cluster was made with.
        HostError: A range is in use.
    """
    if stored is not None:
        have = (stored.node_range, stored.pod_range, stored.service_range)
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
        check_ranges(Ranges(stored.node_range, stored.pod_range, stored.service_range), claims)
        count = node_count or stored.node_count
        return ClusterSettings(
            name, count, stored.node_range, stored.pod_range, stored.service_range
        )
    claims = list(claims)
    given = [Claim(network, "an option") for network in wanted if network is not None]
    free = choose_ranges([*claims, *given]) if None in wanted else Ranges(*(w for w in wanted if w))
    ranges = Ranges(*(new or old for new, old in zip(wanted, free, strict=True)))
    settings = ClusterSettings(name, DEFAULT_NODES if node_count is None else node_count, *ranges)
    check_ranges(ranges, claims)
    return settings


def up(name: str, node_count: int | None, wanted: WantedRanges) -> ClusterSettings:
    """Bring a cluster up, or heal it.

    Raises:
        UsageError: The name, the number of nodes or the ranges are not possible.
        HostError: This machine cannot carry it.
        BusyError: Another command is changing it.
        StepError: A step failed.
    """
    check_name(name)
    if node_count is not None:
        check_node_count(node_count)
    preflight.check_caller()
    paths, cache = cluster_paths(name), cache_paths()
    apt.host_sources()
    with ExitStack() as changing:
        # Two new clusters at once must not choose the same addresses.
        with hold(state_folder() / "lock", "the choice of addresses", on_wait=lambda _: None):
            stored = load_settings(paths.settings)
            settings = resolve(stored, name, node_count, wanted, _claims_of_others(stored))
            if supervisor.running_pid(paths) is None:
                cached = any(cache.programs.glob("kubernetes-*"))
                preflight.check_host(settings.node_count, cached=cached)
            changing.enter_context(_changing(settings, paths))
            paths.settings.write_text(json.dumps(settings.to_json(), indent=2))
        _run("local-up.yml", settings, paths)
    return settings


def down(name: str) -> None:
    """Take a cluster down; what it stored stays.

    Raises:
        NotFoundError: There is no such cluster.
        BusyError: Another command is changing it.
        StepError: Something could not be removed.
    """
    preflight.check_caller()
    settings, paths = existing(name)
    with _changing(settings, paths):
        _run("local-down.yml", settings, paths)


def reset(name: str) -> None:
    """Take a cluster down and delete everything that it stored.

    Raises:
        NotFoundError: There is no such cluster.
        BusyError: Another command is changing it.
        StepError: Something could not be removed.
    """
    down(name)
    settings, paths = existing(name)
    with _changing(settings, paths):
        shutil.rmtree(paths.root)


def existing(name: str) -> tuple[ClusterSettings, ClusterPaths]:
    """A cluster that was created.

    Raises:
        NotFoundError: There is no such cluster.
    """
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
    """Be the only one who changes the cluster, with nothing of an earlier run still at work."""
    check_owner(settings.name, network.owner(settings), network.mark(paths))
    with hold(paths.lock, f"cluster `{settings.name}`"):
        leftovers.end(settings.name)
        try:
            yield
        finally:
            leftovers.end(settings.name)


def check_owner(name: str, owner: str, mark: str) -> None:
    """Refuse what would be done to another state folder's cluster of the same name.

    Args:
        name: The cluster's name, of which everything on the host has its own.
        owner: Whose network is there: a cluster's folder, or nothing.
        mark: Our cluster's folder.

    Raises:
        HostError: Somebody else's cluster of this name is up.
    """
    # Of one whose folder was deleted, only leftovers are there.
    if owner in {"", mark} or not ClusterPaths(Path(owner)).run.is_dir():
        return
    folder = Path(owner).parents[1]
    raise HostError(
        f"another cluster `{name}` is up on this machine, from the state folder `{folder}`",
        f"choose another name with `--name`, or take it down:"
        f" `DEVCTL_STATE_DIR={folder} devctl local down --name {name}`",
    )


def _run(name: str, settings: ClusterSettings, paths: ClusterPaths) -> None:
    variables = inventory(settings, paths, cache_paths())
    if playbook.run(name, variables, paths.root, run_of=settings.name):
        raise ReportedError(f"{name} failed")


def _claims_of_others(own: ClusterSettings | None) -> list[Claim]:
    """What the host uses, less what this cluster put there, and what other clusters keep."""
    claims = network.read_claims() if shutil.which("ip") else []
    if own is not None:
        claims = [c for c in claims if f"`{own.bridge}" not in c.holder]
    for name in cluster_names():
        other = load_settings(cluster_paths(name).settings)
        if other is not None and (own is None or other.name != own.name):
            holder = f"the local cluster `{name}`"
            claims += [
                Claim(r, holder) for r in (other.node_range, other.pod_range, other.service_range)
            ]
    return claims
