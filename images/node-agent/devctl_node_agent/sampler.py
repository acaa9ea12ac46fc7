"""Looks at all dev servers' pods of the node. They are recognised by their first process."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from devctl_node_agent import gpus, jupyter, network, probe, terminals, waiting
from devctl_node_agent.cgroups import MAX_PIDS
from devctl_node_agent.processes import describe, read_process
from devctl_node_agent.sample import Counters, Place, Sample

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from devctl_node_agent.cgroups import Cgroups
    from devctl_node_agent.processes import Process

_LOOKS = 30
"""How often a container is examined before it counts as something other than a dev server."""


class _Seen(NamedTuple):
    """What is known of a container."""

    is_server: bool
    looks: int = 0
    devices: gpus.Devices | None = None
    """None until it has been looked at."""
    probe: probe.Timing | None = None


class Sampler:
    """Takes samples of the pods of a node.

    Args:
        proc: Where /proc is.
        cgroups: The pods' cgroups.
        tool: nvidia-smi.
    """

    def __init__(self, proc: str, cgroups: Cgroups, tool: gpus.Tool) -> None:
        """Know no container yet."""
        self._proc, self._cgroups, self._tool = proc, cgroups, tool
        self._containers: dict[str, _Seen] = {}
        self._servers: set[str] = set()
        """UIDs of pods that are dev servers, even while their container restarts."""

    def look(self, now: float) -> dict[str, Sample]:
        """A sample of each dev server's pod, by UID.

        Args:
            now: The monotonic clock.
        """
        pods = self._cgroups.pods()
        self._servers &= pods.keys()
        seen: dict[str, _Seen] = {}
        found = {}
        for uid, folder in pods.items():
            pids: set[int] = set()
            server = None
            for container in self._cgroups.containers(folder):
                known = self._containers.get(container, _Seen(is_server=False))
                # Other pods' processes matter only as long as they may become a server's.
                if known.is_server or known.looks < _LOOKS or uid in self._servers:
                    inside = self._cgroups.pids(container)
                    pids.update(inside)
                    known = self._examine(known, inside)
                    if known.is_server and (inside or server is None):
                        server = (container, inside)
                seen[container] = known
            if server:
                self._servers.add(uid)
                seen[server[0]], sample = self._sample(folder, *server, seen[server[0]], pids, now)
                found[uid] = sample
            elif uid in self._servers:
                found[uid] = Sample(self._counters(folder, None, [], now), problem="not running")
        self._containers = seen
        return found

    def _examine(self, known: _Seen, pids: Collection[int]) -> _Seen:
        """Whether a container is a server's. PIDs wrap, so the first process may have any."""
        if known.is_server or known.looks >= _LOOKS or not pids:
            return known
        for pid in pids:
            process = read_process(self._proc, pid)
            if process and waiting.is_start(process):
                return _Seen(is_server=True)
        return known._replace(looks=known.looks + 1)

    def _sample(  # noqa: PLR0913, PLR0917 - all that is known of a pod
        self,
        folder: str,
        container: str,
        inside: list[int],
        known: _Seen,
        pids: Collection[int],
        now: float,
    ) -> tuple[_Seen, Sample]:
        if len(inside) > MAX_PIDS:
            problem = f"{container.rpartition('/')[2][:8]}: more than {MAX_PIDS} processes"
            return known, Sample(self._counters(folder, inside[0], [], now), problem=problem)
        read = (read_process(self._proc, pid) for pid in inside)
        processes = {each.pid: each for each in read if each}
        start = next(filter(waiting.is_start, processes.values()), None)
        if start is None:
            return known, Sample(self._counters(folder, None, [], now), problem="not running")
        root = f"{self._proc}/{start.pid}/root"
        if known.devices is None:
            environment = gpus.environment(self._proc, start.pid)
            known = known._replace(
                devices=gpus.devices(root, environment), probe=probe.timing(environment)
            )
        servers = jupyter.read(root, now)
        idle = servers.idle_kernels if servers and not servers.problem else frozenset()
        used = self._gpus(known.devices, root, processes)
        numbers = frozenset(
            each.stat.terminal for each in processes.values() if each.stat.terminal is not None
        )
        counters = self._counters(folder, start.pid, processes.values(), now)
        return known, Sample(
            counters._replace(
                input_times=terminals.input_times(root, numbers),
                last_command=terminals.last_command(root),
            ),
            working=self._described(waiting.working(processes, idle)),
            attached=self._described(terminals.attached(processes, pids)),
            jupyter=servers,
            gpus=used,
            probe=probe.read(root, probe.uptime(self._proc), known.probe) if known.probe else None,
            gpu_user=self._described([processes[pid] for pid in used.used_by[:1]])[0]
            if used and used.used_by
            else "",
            place=Place(start.pid, start.stat.started, numbers),
        )

    def _gpus(
        self, devices: gpus.Devices | None, root: str, pids: Collection[int]
    ) -> gpus.Gpus | None:
        if devices and devices.real:
            return self._tool.look(self._proc, pids)
        return gpus.simulated(root) if devices and devices.simulated else None

    def _counters(
        self, folder: str, pid: int | None, processes: Iterable[Process], now: float
    ) -> Counters:
        usage = self._cgroups.usage(folder)
        known = {(each.pid, each.stat.started): each for each in processes}
        return Counters(
            at=now,
            cpu_seconds=usage.cpu_seconds,
            io_bytes=usage.io_bytes,
            network_bytes=None if pid is None else network.traffic(self._proc, pid),
            processes={key: each.io for key, each in known.items() if each.io},
            ssh=frozenset(key for key, each in known.items() if waiting.is_ssh(each)),
        )

    def _described(self, processes: list[Process]) -> tuple[str, ...]:
        """The first by name; of the others, only the number matters."""
        if not processes:
            return ()
        return (describe(self._proc, processes[0]), *("" for _ in processes[1:]))
