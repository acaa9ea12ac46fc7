"""The page of a GPU workload."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from devctl.cli.options import command
from devctl.cli.page import Table
from devctl.cli.queueing import queue_facts
from devctl.cli.tables import Column
from devctl.cli.times import age, span, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devctl.client.queues.waiting import Waiting
    from devctl.client.workloads.workload import Workload

_NODES = [
    Column("NODE", lambda each: each.get("node")),
    Column("SCORE", lambda each: each.get("score")),
    Column("MESSAGE", lambda each: each.get("reason")),
]


def workload_tables(workload: Workload) -> list[Table]:
    """The tables of its page, but for its events."""
    return [Table("Nodes considered", _NODES, workload.considered)]


def workload_facts(workload: Workload, waiting: Waiting | None = None) -> Iterator[tuple[str, str]]:
    """The labels and facts of its page; `waiting` says why it waits in a queue."""
    spec, status = workload.spec, workload.status
    yield "Name", workload.name
    yield "Namespace", workload.namespace
    if workload.owner:
        yield "Owner", workload.owner
    plain = workload.reason in {"", workload.phase}
    yield "Phase", str(workload.phase) if plain else f"{workload.phase} ({workload.reason})"
    if workload.message:
        yield "", workload.message
    if waiting:
        yield from queue_facts(waiting, workload.message)
    elif workload.queue:
        yield "Queue", workload.queue
    yield from _attempts(workload)
    if "exitCode" in status:
        yield "Exit code", str(status["exitCode"])
    yield "Model", workload.model
    yield "GPUs", _gpus(workload)
    yield "Priority", workload.priority
    yield "Strategy", workload.strategy
    if workload.assigned:
        yield "Nodes", ", ".join(workload.assigned) + " (from rank 0)"
    elif workload.node:
        yield "Node", workload.node
    yield "Image", str(spec.get("image", "(the default)"))
    if words := [*spec.get("command", []), *spec.get("args", [])]:
        yield "Command", shlex.join(map(str, words))
    for number, volume in enumerate(spec.get("volumes", [])):
        how = ", read-only" * bool(volume.get("readOnly"))
        where = f"{volume['claimName']} at {volume['mountPath']}{how}"
        yield "" if number else "Volumes", where
    yield "Age", age(workload.created_at)
    yield from _times(workload)
    yield "Use", _use(workload)


def _gpus(workload: Workload) -> str:
    pods, each = workload.nodes, workload.gpus
    return str(each) if pods == 1 else f"{pods * each}, {each} in each of {pods} pods"


def _attempts(workload: Workload) -> Iterator[tuple[str, str]]:
    if workload.attempt:
        yield "Attempt", str(workload.attempt)
    next_at = workload.moment("nextRetryAt")
    due = f", due {until(next_at)}" if next_at else ""
    yield "Retries", f"{workload.retries} of {workload.max_retries}{due}"


def _times(workload: Workload) -> Iterator[tuple[str, str]]:
    started, finished = workload.moment("startedAt"), workload.moment("finishedAt")
    if started:
        yield "Started", f"{age(started)} ago ({started:%Y-%m-%d %H:%M:%S} UTC)"
    if started and finished:
        yield "Took", span(finished - started)


def _use(workload: Workload) -> str:
    """The command to run next."""
    return command(f"jobs logs {'' if workload.finished else '-f '}{workload.name}")
