"""What replicas use, as the lines of a picture."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from devctl.cli.tables import table
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.monitor import Sample

_KIB = 1024
_NEARLY_FULL = 0.95


def picture(samples: Sequence[Sample], width: int = 0, processes: int = 5) -> list[str]:
    """The lines: what each replica uses, its GPUs, and its busiest processes.

    Args:
        samples: One a replica.
        width: How many characters a line may have; 0 for as many as it needs.
        processes: How many of each replica are shown.
    """
    lines = table(("POD", "CPU", "MEMORY", "HOME"), [_row(sample) for sample in samples], width)
    for titles, rows in (
        (("POD", "GPU", "BUSY", "MEMORY", "NAME"), _gpus(samples)),
        (("POD", "PID", "CPU", "MEMORY", "COMMAND"), _processes(samples, processes)),
    ):
        if rows:
            lines += ["", *table(titles, rows, width)]
    for sample in samples:
        if note := one_line(_note(sample)):
            lines += [
                "",
                *(textwrap.wrap(note, width, break_on_hyphens=False) if width else [note]),
            ]
    return lines


def _note(sample: Sample) -> str:
    """What a person has to know of a replica beside its numbers; empty where there is nothing."""
    usage = sample.usage
    if usage is None:
        return f"{sample.pod} cannot be looked at: {sample.problem}"
    if usage.home is None or not usage.home_size or usage.home <= _NEARLY_FULL * usage.home_size:
        return ""
    return f"the home of {sample.pod} is nearly full: free space there, or have it made larger"


def _row(sample: Sample) -> tuple[object, ...]:
    usage = sample.usage
    if usage is None:
        return (sample.pod, "?", "?", "?")
    return (
        sample.pod,
        _share(_processors(sample.cpu), _processors(usage.cpus)),
        _used(usage.memory, usage.memory_size),
        _used(usage.home, usage.home_size),
    )


def _gpus(samples: Sequence[Sample]) -> list[tuple[object, ...]]:
    return [
        (
            sample.pod,
            gpu.number,
            "?" if gpu.percent is None else f"{gpu.percent}%",
            _used(gpu.memory, gpu.memory_size),
            gpu.name,
        )
        for sample in samples
        if sample.usage
        for gpu in sample.usage.gpus
    ]


def _processes(samples: Sequence[Sample], count: int) -> list[tuple[object, ...]]:
    return [
        (
            sample.pod,
            process.pid,
            _processors((sample.busy or {}).get(process.pid)),
            size(process.memory),
            process.command,
        )
        for sample in samples
        for process in sample.top(count)
    ]


def _processors(count: float | None) -> str:
    return "?" if count is None else f"{count:.2f}".rstrip("0").rstrip(".")


def _used(used: int | None, most: int | None) -> str:
    text = _share(size(used), size(most))
    return f"{text} ({used / most:.0%})" if used is not None and most else text


def _share(used: str, most: str) -> str:
    return f"{used} of {most}" if most != "?" else used


def size(count: int | None) -> str:
    """A number of bytes, in the units of flavors and homes.

    >>> size(None), size(0), size(1536 * 1024), size(64 * 1024**3)
    ('?', '0', '1.5Mi', '64Gi')
    """
    if count is None:
        return "?"
    amount, unit = float(count), ""
    for bigger in ("Ki", "Mi", "Gi", "Ti"):
        if amount < _KIB:
            break
        amount, unit = amount / _KIB, bigger
    return f"{amount:.1f}".removesuffix(".0") + unit
