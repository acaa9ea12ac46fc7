"""`devctl monitor`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from devctl.cli.options import connected, output, seconds, server_name
from devctl.cli.results import print_document
from devctl.cli.screen import columns
from devctl.cli.tables import folded, table
from devctl.errors import UsageError
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client
    from devctl.client.monitor import Sample

_KIB = 1024
_NEARLY_FULL = 0.95


@click.command()
@server_name
@click.option("--once", is_flag=True, help="Show it once, and exit.")
@click.option(
    "--interval",
    type=seconds,
    metavar="D",
    default="2s",
    show_default=True,
    help="Time between two updates.",
)
@click.option(
    "--processes",
    type=click.IntRange(min=0),
    metavar="N",
    default=5,
    show_default=True,
    help="How many of each replica.",
)
@output("table", "json", "yaml")
@connected
def monitor(
    client: Client, name: str, interval: float, processes: int, output: str, *, once: bool
) -> None:
    """Show what each replica of a server uses: CPU, memory, disk, GPUs and processes.

    It runs until Ctrl-C. Values that are not available are shown as `?`.

    \b
    Examples:
      devctl monitor training-job
      devctl monitor training-job --once -o json
    """
    if once:
        found = client.monitor.once(name)
        if output == "table":
            for line in picture(found, columns(sys.stdout), processes):
                click.echo(line)
        else:
            documents = [sample.document() for sample in found]
            print_document({"server": name, "replicas": documents}, output)
        return
    if output != "table":
        raise UsageError(f"-o {output} needs --once", "add --once, or leave out -o")
    from devctl.cli.live import follow, polled  # noqa: PLC0415 - only this needs it

    if interval <= 0:
        raise UsageError("--interval is too short", "use 1s or more")
    follow(
        # The poll sleeps between samples.
        polled(lambda: client.monitor.watch(name, sleep=lambda _seconds: None), interval),
        lambda seen, width: picture(seen, width, processes),
        lambda seen, _before: [*picture(seen, 0, processes), ""],
    )


def picture(samples: Sequence[Sample], width: int = 0, processes: int = 5) -> list[str]:
    """The lines: each replica's usage, its GPUs, its busiest processes; `width` 0 is any."""
    lines = table(("POD", "CPU", "MEMORY", "HOME"), [_row(sample) for sample in samples], width)
    for titles, rows in (
        (("POD", "GPU", "BUSY", "MEMORY", "NAME"), _gpus(samples)),
        (("POD", "PID", "CPU", "MEMORY", "COMMAND"), _processes(samples, processes)),
    ):
        if rows:
            lines += ["", *table(titles, rows, width)]
    for sample in samples:
        if note := one_line(_note(sample)):
            lines += ["", *folded(note, width)]
    return lines


def _note(sample: Sample) -> str:
    """A warning about a replica, if there is one."""
    usage = sample.usage
    if usage is None:
        return f"{sample.pod} cannot be read: {sample.problem}"
    if usage.home is None or not usage.home_size or usage.home <= _NEARLY_FULL * usage.home_size:
        return ""
    return f"the home of {sample.pod} is nearly full: free space there, or have it made larger"


def _row(sample: Sample) -> tuple[object, ...]:
    usage = sample.usage
    if usage is None:
        return (sample.pod, "?", "?", "?")
    return (
        sample.pod,
        _share(_cpus(sample.cpu), _cpus(usage.cpus)),
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
            _cpus((sample.busy or {}).get(process.pid)),
            size(process.memory),
            process.command,
        )
        for sample in samples
        for process in sample.top(count)
    ]


def _cpus(count: float | None) -> str:
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
