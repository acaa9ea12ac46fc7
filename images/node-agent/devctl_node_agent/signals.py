"""Which signals of a pod are active, from two looks at it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from devctl.api.node_activity import SAMPLE_SECONDS, Signal

if TYPE_CHECKING:
    from devctl_node_agent.probe import Answer
    from devctl_node_agent.sample import Counters, Sample

CPU_CORES = 0.05
DISK_RATE = 64 * 1024
"""Bytes per second."""
NETWORK_RATE = 8 * 1024
"""Bytes per second."""
MAX_GAP = 3.0 * SAMPLE_SECONDS
"""Seconds between two looks, after which bursts in between would vanish in the average."""


class Reading(NamedTuple):
    """A signal at one moment."""

    active: bool
    detail: str = ""
    """What is active, or why it is unknown."""
    unknown: bool = False
    last: float = -math.inf
    """When it was last active, if that is known better than from single looks."""


IDLE = Reading(active=False)


def judge(before: Counters | None, sample: Sample) -> dict[Signal, Reading]:
    """The signals of a pod that apply to it.

    Args:
        before: An earlier look, if there is one.
        sample: The latest one.
    """
    now = sample.counters
    found = _processes(sample)
    if before is None:
        new = Reading(active=True, detail="seen for the first time")
        found |= dict.fromkeys((Signal.CPU, Signal.DISK, Signal.NETWORK), new)
        found.setdefault(Signal.TERMINAL, new)
    elif (elapsed := now.at - before.at) > MAX_GAP:
        found = dict.fromkeys(Signal, _unknown(f"not looked at for {elapsed:.0f} s"))
    else:
        seconds = max(elapsed, 0.001)
        found[Signal.CPU] = _cpu(before, now, seconds)
        found[Signal.DISK] = _disk(before, now, seconds)
        found[Signal.NETWORK] = _network(before, now, seconds)
        found.setdefault(Signal.TERMINAL, _input(before, now))
    if sample.jupyter is None:
        found.pop(Signal.JUPYTER, None)
    else:
        found.setdefault(Signal.JUPYTER, _jupyter(sample))
    if sample.gpus is None:
        found.pop(Signal.GPU, None)
    else:
        found.setdefault(Signal.GPU, _gpu(sample))
    if sample.probe is None:
        found.pop(Signal.PROBE, None)
    else:
        found.setdefault(Signal.PROBE, _probe(sample.probe))
    return found


def _processes(sample: Sample) -> dict[Signal, Reading]:
    """Process, and Terminal if one is attached or unknown."""
    if sample.problem:
        return dict.fromkeys((Signal.PROCESS, Signal.TERMINAL), _unknown(sample.problem))
    found = {Signal.PROCESS: IDLE}
    if sample.working:
        found[Signal.PROCESS] = Reading(active=True, detail=_listed(sample.working))
    if sample.attached:
        found[Signal.TERMINAL] = Reading(active=True, detail=_listed(sample.attached))
    elif sample.counters.input_times is None or sample.counters.last_command is None:
        found[Signal.TERMINAL] = _unknown("terminals cannot be read")
    return found


def _cpu(before: Counters, now: Counters, seconds: float) -> Reading:
    if before.cpu_seconds is None or now.cpu_seconds is None:
        return _unknown("the cgroup's CPU time cannot be read")
    cores = (now.cpu_seconds - before.cpu_seconds) / seconds
    if cores < 0:
        return Reading(active=True, detail="restarted")
    return Reading(cores > CPU_CORES, f"{cores:.2f} cores" if cores > CPU_CORES else "")


def _disk(before: Counters, now: Counters, seconds: float) -> Reading:
    processes = sum(
        max(0, io.disk - (before.processes[key].disk if key in before.processes else 0))
        for key, io in now.processes.items()
    )
    # Each pod has a process: without their counters, writes to a network file system go unnoticed.
    if not now.processes:
        return _unknown("the processes' disk use cannot be read")
    if before.io_bytes is None or now.io_bytes is None:
        group = 0
    else:
        group = now.io_bytes - before.io_bytes
        if group < 0:
            return Reading(active=True, detail="restarted")
    return _rate(max(processes, group) / seconds, DISK_RATE)


def _network(before: Counters, now: Counters, seconds: float) -> Reading:
    if before.network_bytes is None or now.network_bytes is None:
        return _unknown("the pod's network cannot be read")
    moved = now.network_bytes - before.network_bytes
    if moved < 0:
        return Reading(active=True, detail="restarted")
    found = _rate(moved / seconds, NETWORK_RATE)
    if found.active:
        return found
    # An upload with SFTP: what SSH carries comes through the kubelet.
    for key in now.ssh & now.processes.keys():
        io, earlier = now.processes[key], before.processes.get(key)
        read = io.read - (earlier.read if earlier else 0)
        written = io.written - (earlier.written if earlier else 0)
        carried = _rate(max(read, written) / seconds, NETWORK_RATE)
        if carried.active:
            return carried._replace(detail=f"{carried.detail} over SSH")
    return found


def _rate(rate: float, limit: int) -> Reading:
    return Reading(rate > limit, f"{rate / 1024:.0f} KiB/s" if rate > limit else "")


def _input(before: Counters, now: Counters) -> Reading:
    earlier, later = before.input_times, now.input_times or {}
    if earlier is None or before.last_command is None:
        return _unknown("terminals could not be read")
    if before.last_command != now.last_command:
        return Reading(active=True, detail="a command of devctl's")
    for number, moment in sorted(later.items()):
        if earlier.get(number) != moment:
            return Reading(active=True, detail=f"input in pts/{number}")
    return IDLE


def _jupyter(sample: Sample) -> Reading:
    jupyter = sample.jupyter
    if jupyter is None or jupyter.problem:
        return _unknown(jupyter.problem if jupyter else "")
    if jupyter.busy:
        return Reading(
            active=True, detail=_listed([f"kernel {name}" for name in jupyter.busy]) + " is busy"
        )
    return Reading(active=False, detail="a kernel or terminal", last=jupyter.last)


def _gpu(sample: Sample) -> Reading:
    gpus = sample.gpus
    if gpus is None or gpus.problem:
        return _unknown(gpus.problem if gpus else "")
    if gpus.load:
        return Reading(active=True, detail=f"simulated load of {gpus.load} %")
    return Reading(bool(gpus.used_by), sample.gpu_user if gpus.used_by else "")


def _probe(answer: Answer) -> Reading:
    if answer.problem:
        return _unknown(answer.problem)
    return Reading(answer.active, "the activity probe" if answer.active else "")


def _unknown(why: str) -> Reading:
    return Reading(active=True, detail=why, unknown=True)


def _listed(names: tuple[str, ...] | list[str]) -> str:
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return names[0] + more
