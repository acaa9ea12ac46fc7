"""The output of a GPU workload on the screen: attempt by attempt, with the ranks of its pods."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.replica_output import ReplicaOutput

if TYPE_CHECKING:
    from devctl.client.workloads.output import Output


class AttemptOutput:
    """Prints what attempts print; a line on standard error says when another one begins."""

    def __init__(self, ranks: int) -> None:
        """Nothing is printed yet.

        An attempt may have more pods than the `ranks` of the spec, which is for the next one.
        """
        self._ranks, self._attempt = ranks, 0
        self._output = ReplicaOutput(range(ranks))

    def add(self, piece: Output) -> None:
        """Print some of what a pod has printed."""
        if self._attempt and piece.attempt != self._attempt:
            self._output.end_all()
            click.echo(f"attempt {piece.attempt}:", err=True)
        self._attempt = piece.attempt
        if piece.rank >= self._ranks:
            self._output.end_all()
            self._ranks = piece.rank + 1
            self._output = ReplicaOutput(range(self._ranks))
        self._output.add(piece.rank, piece.data)

    def end(self) -> None:
        """Print all unfinished lines."""
        self._output.end_all()
