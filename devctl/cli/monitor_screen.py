"""What `devctl monitor` shows of each replica, of its GPUs and of its processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devctl.cli.graphs import Graph, with_graphs
from devctl.cli.tables import Column, folded, lines_of
from devctl.cli.usage import bytes_of, cpus, cpus_of, part, size
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from devctl.cli.graphs import History
    from devctl.client.monitor import Gpu, Sample, Usage

_NEARLY_FULL = 0.95


def _cpu(sample: Sample) -> str:
    return cpus_of(sample.cpu, sample.usage.cpus) if sample.usage else "?"


def _memory(of: Usage | Gpu | None) -> str:
    return bytes_of(of.memory, of.memory_size) if of else "?"


def _home(of: Usage | None) -> str:
    return bytes_of(of.home, of.home_size) if of else "?"


_REPLICAS: Sequence[Column] = [
    Column("POD", lambda sample: sample.pod),
    Column("CPU", _cpu),
    Column("MEMORY", lambda sample: _memory(sample.usage)),
    Column("HOME", lambda sample: _home(sample.usage)),
]
_GPUS: Sequence[Column] = [
    Column("POD", lambda row: row[0]),
    Column("GPU", lambda row: row[1].number),
    Column("BUSY", lambda row: "?" if row[1].percent is None else f"{row[1].percent}%"),
    Column("MEMORY", lambda row: _memory(row[1])),
    Column("NAME", lambda row: row[1].name),
]
_PROCESSES = [
    Column("POD", lambda row: row[0].pod),
    Column("PID", lambda row: row[1].pid),
    Column("CPU", lambda row: cpus((row[0].busy or {}).get(row[1].pid))),
    Column("MEMORY", lambda row: size(row[1].memory)),
    Column("COMMAND", lambda row: row[1].command),
]


def picture(
    samples: Sequence[Sample], width: int = 0, processes: int = 5, history: History | None = None
) -> list[str]:
    """The lines: each replica's usage, its GPUs, its busiest processes; `width` 0 is any.

    With a history, see `shares`, there are graphs where lines have room for them.
    """
    gpus = [(sample.pod, gpu) for sample in samples if sample.usage for gpu in sample.usage.gpus]
    busiest = [(sample, process) for sample in samples for process in sample.top(processes)]
    columns, gpu_columns = _REPLICAS, _GPUS
    if history and width:
        columns = with_graphs(samples, _REPLICAS, _graphs_of_replicas(history), width)
        gpu_columns = with_graphs(gpus, _GPUS, _graphs_of_gpus(history), width)
    lines = list(lines_of(samples, columns, width))
    if gpus:
        lines += ["", *lines_of(gpus, gpu_columns, width)]
    if busiest:
        lines += ["", *lines_of(busiest, _PROCESSES, width)]
    for sample in samples:
        if note := one_line(_note(sample)):
            lines += ["", *folded(note, width)]
    return lines


def shares(samples: Sequence[Sample]) -> Mapping[Hashable, float | None]:
    """The parts of CPU, memory and GPUs that are used, for a history."""
    return {key: share for sample in samples for key, share in _shares(sample)}


def _shares(sample: Sample) -> Iterator[tuple[Hashable, float | None]]:
    usage, pod = sample.usage, sample.pod
    yield ("CPU", pod), part(sample.cpu, usage.cpus) if usage else None
    yield ("MEMORY", pod), part(usage.memory, usage.memory_size) if usage else None
    for gpu in usage.gpus if usage else ():
        yield ("GPU", pod, gpu.number), part(gpu.percent, 100)
        yield ("GPU MEMORY", pod, gpu.number), part(gpu.memory, gpu.memory_size)


def _graphs_of_replicas(history: History) -> list[Graph]:
    return [
        Graph("CPU", lambda sample: history.of(("CPU", sample.pod))),
        Graph("MEMORY", lambda sample: history.of(("MEMORY", sample.pod))),
    ]


def _graphs_of_gpus(history: History) -> list[Graph]:
    return [
        Graph("BUSY", lambda row: history.of(("GPU", row[0], row[1].number))),
        Graph("MEMORY", lambda row: history.of(("GPU MEMORY", row[0], row[1].number))),
    ]


def _note(sample: Sample) -> str:
    """A warning about a replica, if there is one."""
    usage = sample.usage
    if usage is None:
        return f"{sample.pod} cannot be read: {sample.problem}"
    if usage.home is None or not usage.home_size or usage.home <= _NEARLY_FULL * usage.home_size:
        return ""
    return f"the home of {sample.pod} is nearly full: free space there, or have it made larger"
