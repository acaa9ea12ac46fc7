"""What a host looks like: everything that a local cluster could leave behind on it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from devctl.local import cgroups
from devctl.local.namespaces import current_mounts
from devctl.local.paths import cache_paths, state_folder

# Whole trees are compared; of the others, which other programs use too, only the first level.
_TREES = ("/etc", "/opt", "/run", "/srv", "/usr", "/var")
_FIRST_LEVEL = ("/", "/tmp", "/root", "/mnt", "/home")  # noqa: S108 - looked at, not written
# What the test runner and the machine's own services write while the tests run.
_NOT_OURS = (
    "/tmp/pytest-of-",  # noqa: S108
    "/tmp/ansible-operator",  # noqa: S108
    "/var/log/journal",
)
_SETTINGS = (
    "net/ipv4/ip_forward",
    "fs/inotify/max_user_instances",
    "fs/inotify/max_user_watches",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "vm/overcommit_memory",
)


class HostState(NamedTuple):
    """One picture; two of them are compared field by field."""

    mounts: list[str]
    interfaces: list[str]
    addresses: list[str]
    routes: list[str]
    rules: list[str]
    namespaces: set[str]
    nftables: str
    cgroups: set[str]
    processes: set[str]
    settings: dict[str, str]
    files: set[str]


def take(cluster: str) -> HostState:
    """Look at everything but what other clusters run, whose pods come and go meanwhile.

    Args:
        cluster: The one that the picture is for.
    """
    return HostState(
        mounts=sorted(current_mounts()),
        interfaces=sorted(link["ifname"] for link in _ip("link")),
        addresses=sorted(
            f"{link['ifname']} {info['local']}"
            for link in _ip("address")
            for info in link["addr_info"]
        ),
        routes=sorted(_text("ip", "route", "show", "table", "all").splitlines()),
        rules=sorted(_text("ip", "rule").splitlines()),
        namespaces=_namespaces(cluster),
        nftables=_nftables(),
        cgroups={f for f, _, _ in os.walk(cgroups.ROOT) if _cluster_of(f) in {"", cluster}},
        processes=_processes(cluster),
        settings={name: Path("/proc/sys", name).read_text().strip() for name in _SETTINGS},
        files=_files(),
    )


def _text(*argv: str | Path) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def _ip(what: str) -> list[dict[str, Any]]:
    answer: list[dict[str, Any]] = json.loads(_text("ip", "-json", what))
    return answer


def _nftables() -> str:
    """The rule set, read with the node image's nft: the host may have none."""
    root = next(p for p in cache_paths().node_roots.glob("node-*") if p.suffix != ".partial")
    return _text("chroot", root, "nft", "list", "ruleset")


def _cluster_of(group: str) -> str:
    """The cluster that a control group belongs to; empty where it is none's."""
    return group.partition(f"/{cgroups.PARENT}/")[2].partition("/")[0]


def _is_anothers(process: Path, cluster: str) -> bool:
    """Whether a process is in a control group of another cluster, when it is looked at.

    A list made beforehand would miss what its pods start meanwhile, a probe for example.
    """
    lines = (process / "cgroup").read_text().splitlines()
    return any(_cluster_of(line.split(":", 2)[2]) not in {"", cluster} for line in lines)


def _processes(cluster: str) -> set[str]:
    """What runs from the state folder, inside nodes and outside, by pid.

    Other programs of the machine come and go; what a container runs shows in the control groups.
    """
    signs = (str(state_folder()).encode(), b"/opt/devctl/programs", b"/pause")
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if _is_anothers(entry, cluster):
                continue
            words = [bytes((entry / "exe").readlink()), (entry / "cmdline").read_bytes()]
            name = (entry / "comm").read_text().strip()
        except OSError:
            continue
        if any(sign in word for sign in signs for word in words):
            found.add(f"{entry.name} {name}")
    return found


def _namespaces(cluster: str) -> set[str]:
    """The network and mount namespaces that any process is in."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        for kind in ("net", "mnt"):
            try:
                if not _is_anothers(entry, cluster):
                    found.add(os.readlink(entry / "ns" / kind))  # noqa: PTH115 - the link's text
            except OSError:
                continue
    return found


def _files() -> set[str]:
    state = str(state_folder())
    found: set[str] = set()
    for tree in _TREES:
        for folder, folders, files in os.walk(tree):
            if folder.startswith(state):
                folders.clear()
                continue
            found.update(f"{folder}/{name}" for name in files)
            found.update(f"{folder}/{name}" for name in folders)
    for folder in _FIRST_LEVEL:
        found.update(str(p) for p in Path(folder).iterdir())
    return {f for f in found if not f.startswith((state, *_NOT_OURS))}


def differences(before: HostState, after: HostState) -> dict[str, object]:
    """The fields that differ, and how."""
    found: dict[str, object] = {}
    for field in HostState._fields:
        old, new = getattr(before, field), getattr(after, field)
        if old == new:
            continue
        if isinstance(old, str | dict):
            found[field] = {"before": old, "after": new}
        else:
            found[field] = {"gone": sorted(set(old) - set(new)), "new": sorted(set(new) - set(old))}
    return found
