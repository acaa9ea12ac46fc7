"""What is known of a pod at one moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from devctl_node_agent.gpus import Gpus
    from devctl_node_agent.jupyter import Jupyter
    from devctl_node_agent.probe import Answer
    from devctl_node_agent.processes import Io


class Counters(NamedTuple):
    """What only grows, and is compared with an earlier sample. None is unknown."""

    at: float
    """The monotonic clock."""
    cpu_seconds: float | None = None
    io_bytes: int | None = None
    """Of the cgroup, which does not see network file systems, and in v1 no buffered writes."""
    network_bytes: int | None = None
    processes: Mapping[tuple[int, int], Io] = {}
    """By PID and start, so that a reused PID is another process."""
    ssh: frozenset[tuple[int, int]] = frozenset()
    """Those that carry SSH connections, whose traffic does not pass the pod's network."""
    input_times: Mapping[int, int] | None = {}
    """The last input of each terminal."""
    last_command: int | None = 0
    """When devctl last started a command; 0 if it has not."""


class Place(NamedTuple):
    """Where the terminals of a pod are."""

    pid: int
    """The first process of its server."""
    started: int
    """That process's start, because PIDs are reused."""
    terminals: frozenset[int]
    """Those that any process has, as in /dev/pts."""


class Sample(NamedTuple):
    """One look at a pod."""

    counters: Counters
    working: tuple[str, ...] = ()
    """A description of the oldest process that does not wait, and of how many there are."""
    attached: tuple[str, ...] = ()
    """The same of terminals that are attached."""
    jupyter: Jupyter | None = None
    gpus: Gpus | None = None
    probe: Answer | None = None
    """None if the pod has no activity probe."""
    gpu_user: str = ""
    """The description of a process that uses a GPU."""
    place: Place | None = None
    """None if it does not run."""
    problem: str = ""
    """Why its processes cannot be seen."""
