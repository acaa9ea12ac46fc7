"""The cgroups of the pods on this node: v1 and v2, and both drivers of the kubelet.

With `cgroupfs` a container is `kubepods/burstable/pod<uid>/<id>`; with `systemd` it is
`kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<uid>.slice/cri-containerd-<id>.scope`,
the UID with underscores. Either may be below a parent: the kubelet's `--cgroup-root`.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from devctl_node_agent.files import read_kernel_file

_UID = "[0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}"
_POD = re.compile(rf"(?:.*-)?pod({_UID})(?:\.slice)?")
_ALL_PODS = re.compile(r"(?:.*-)?kubepods(?:\.slice)?")
_QUALITY = re.compile(r"(?:.*-)?(?:burstable|besteffort)(?:\.slice)?")
_MAX_DEPTH = 12
_MAX_FOLDERS = 20_000
MAX_PIDS = 1024
"""Of one container: beyond that, it is busy anyway."""


class NoPodsError(Exception):
    """This pod's own cgroup, beside which the others are, was not found."""


class Usage(NamedTuple):
    """What a pod has used since it started; None is unknown."""

    cpu_seconds: float | None
    io_bytes: int | None


def pod_uid(name: str) -> str | None:
    """The UID in a pod's folder name.

    >>> pod_uid("kubepods-burstable-pod0f2c3a1e_0000_4000_8000_00000000000a.slice")
    '0f2c3a1e-0000-4000-8000-00000000000a'
    """
    found = _POD.fullmatch(name)
    return found[1].replace("_", "-") if found else None


class Cgroups:
    """The cgroups of this node's pods, found beside that of the agent's own pod.

    On a machine with several nodes, as in the local cluster, other nodes' pods are there too.

    Args:
        mount: Where the node's /sys/fs/cgroup is.
        own_uid: UID of the agent's pod.

    Raises:
        NoPodsError: The agent's own pod is not there.
    """

    def __init__(self, mount: str, own_uid: str) -> None:
        """Find the folder of all pods."""
        self._v2 = Path(mount, "cgroup.controllers").exists()
        self._cpu = mount if self._v2 else _controller(mount, "cpuacct")
        self._io = mount if self._v2 else _controller(mount, "blkio")
        self._pods = _find_pods(self._cpu, own_uid)

    def pods(self) -> dict[str, str]:
        """The folder of each pod by UID, relative to the hierarchy."""
        found: dict[str, str] = {}
        for name in _folders(f"{self._cpu}/{self._pods}"):
            uid = pod_uid(name)
            if uid:
                found[uid] = f"{self._pods}/{name}"
            elif _QUALITY.fullmatch(name):
                for inner in _folders(f"{self._cpu}/{self._pods}/{name}"):
                    if uid := pod_uid(inner):
                        found[uid] = f"{self._pods}/{name}/{inner}"
        return found

    def containers(self, pod: str) -> list[str]:
        """The folders of a pod's containers, relative to the hierarchy."""
        return [f"{pod}/{name}" for name in sorted(_folders(f"{self._cpu}/{pod}"))]

    def pids(self, container: str) -> list[int]:
        """The processes of a container, sorted, and at most one more than MAX_PIDS."""
        found: list[int] = []
        self._collect(f"{self._cpu}/{container}", found, 0)
        return sorted(found)[: MAX_PIDS + 1]

    def usage(self, pod: str) -> Usage:
        """CPU and disk of all of a pod's containers."""
        cpu, io = f"{self._cpu}/{pod}", f"{self._io}/{pod}"
        if self._v2:
            return Usage(
                parse_cpu_stat(read_kernel_file(f"{cpu}/cpu.stat")),
                parse_io_stat(read_kernel_file(f"{io}/io.stat")),
            )
        return Usage(
            parse_cpuacct(read_kernel_file(f"{cpu}/cpuacct.usage")),
            parse_blkio(read_kernel_file(f"{io}/blkio.throttle.io_service_bytes_recursive")),
        )

    def _collect(self, folder: str, found: list[int], depth: int) -> None:
        found += parse_pids(read_kernel_file(f"{folder}/cgroup.procs"))
        # A folder without folders has two links; some file systems do not count them.
        if depth < _MAX_DEPTH and len(found) <= MAX_PIDS and _links(folder) != 2:  # noqa: PLR2004
            for name in _folders(folder):
                self._collect(f"{folder}/{name}", found, depth + 1)


def parse_pids(data: bytes | None) -> list[int]:
    """The numbers in a cgroup.procs; 0 is a process that this PID namespace does not have."""
    return [int(word) for word in (data or b"").split() if word.isdigit() and word != b"0"]


def parse_cpuacct(data: bytes | None) -> float | None:
    """Seconds, from a cpuacct.usage in nanoseconds."""
    word = (data or b"").strip()
    return int(word) / 1e9 if word.isdigit() else None


def parse_cpu_stat(data: bytes | None) -> float | None:
    """Seconds, from a cpu.stat.

    >>> parse_cpu_stat(b"usage_usec 1500000")
    1.5
    """
    for line in (data or b"").splitlines():
        name, _, value = line.partition(b" ")
        if name == b"usage_usec" and value.isdigit():
            return int(value) / 1e6
    return None


def parse_blkio(data: bytes | None) -> int | None:
    """Bytes read and written, from the total in a blkio.throttle.io_service_bytes_recursive."""
    for line in (data or b"").splitlines():
        words = line.split()
        if len(words) == 2 and words[0] == b"Total" and words[1].isdigit():  # noqa: PLR2004
            return int(words[1])
    return None


def parse_io_stat(data: bytes | None) -> int | None:
    """Bytes read and written, from an io.stat; it is empty before the first.

    >>> parse_io_stat(b"8:0 rbytes=100 wbytes=20 rios=1 wios=1 dbytes=0 dios=0")
    120
    """
    if data is None:
        return None
    total = 0
    for word in data.split():
        name, _, value = word.partition(b"=")
        if name in {b"rbytes", b"wbytes"} and value.isdigit():
            total += int(value)
    return total


def _controller(mount: str, name: str) -> str:
    """The hierarchy of a v1 controller, which may be mounted together with another one."""
    if Path(mount, name).is_dir():
        return f"{mount}/{name}"
    together = (each for each in _folders(mount) if name in each.split(","))
    return f"{mount}/{next(together, name)}"


def _find_pods(top: str, own_uid: str) -> str:
    level, seen = [""], 0
    for _ in range(_MAX_DEPTH):
        deeper = []
        for folder in level:
            for name in _folders(f"{top}/{folder}"):
                path = f"{folder}/{name}" if folder else name
                uid = pod_uid(name)
                if uid == own_uid:
                    return _parent_of_all(folder)
                if not uid:
                    deeper.append(path)
        seen += len(deeper)
        if not deeper or seen > _MAX_FOLDERS:
            break
        level = deeper
    raise NoPodsError(f"the cgroup of this pod ({own_uid}) is not below {top}")


def _parent_of_all(folder: str) -> str:
    """From a pod's parent, which may be its quality of service, the folder of all pods."""
    parent, _, name = folder.rpartition("/")
    return parent if _QUALITY.fullmatch(name) and _ALL_PODS.fullmatch(Path(parent).name) else folder


def _folders(path: str) -> list[str]:
    try:
        with os.scandir(path) as entries:
            return [each.name for each in entries if each.is_dir()]
    except OSError:
        return []


def _links(path: str) -> int:
    try:
        return os.stat(path).st_nlink  # noqa: PTH116 - hundreds of times per sample
    except OSError:
        return 2
