"""How a pod's program ended, and who ended it."""

from __future__ import annotations

from datetime import datetime, timedelta

from lightkube.models.core_v1 import ContainerStateTerminated, Pod

from devctl_observer.judging.last_words import own_words
from devctl_observer.judging.pods import container_statuses, ends_at, own_statuses, pod_condition
from devctl_observer.judging.printable import LONGEST, shown

DISRUPTED = "DisruptionTarget"
"""The condition of a pod that the cluster ends, whatever its program does."""

UNKNOWN_EXIT = "ContainerStatusUnknown"
"""Reported by a kubelet for a container that it no longer finds; the exit code is made up."""

NODE_GONE = frozenset({"DeletionByTaintManager", "DeletionByPodGC"})
"""Reasons of a disruption: the node does not answer, or is gone."""

NODE_ENDED = frozenset({"NodeLost", "NodeShutdown", "Shutdown", "Terminated"})
"""Reasons of pods whose node was lost or shut down."""

STOPPED = frozenset({137, 143})
"""Exit codes of programs that SIGKILL or SIGTERM has ended."""

CLOCK_SKEW = timedelta(minutes=1)
"""How far the clock of a node may be behind the API server's."""

_START_FAILED = {"StartError", "ContainerCannotRun"}


def started_at(pod: Pod) -> datetime | None:
    """When the first of a pod's main containers started."""
    states = [c.state for c in own_statuses(pod)]
    told = [s.running or s.terminated for s in states if s]
    times = [moment.startedAt for moment in told if moment and moment.startedAt]
    return min(times, default=None)


def exit_of(pod: Pod) -> ContainerStateTerminated | None:
    """How the pod's program ended: the first failed container, else the main one."""
    exits = [c.state.terminated for c in container_statuses(pod) if c.state and c.state.terminated]
    main = own_statuses(pod)
    last = main[0].state.terminated if main and main[0].state else None
    return next((ended for ended in exits if ended.exitCode), last)


def disruption(pod: Pod, ended: ContainerStateTerminated | None) -> str:
    """Why the cluster disrupted a pod, unless its program had ended before."""
    found = pod_condition(pod, DISRUPTED)
    if found is None or found.status != "True":
        return ""
    since, finished = found.lastTransitionTime, ended.finishedAt if ended else None
    before = bool(since and finished and finished < since)
    return "" if before else found.reason or "Disrupted"


def asked_at(pod: Pod) -> datetime | None:
    """When a pod was deleted; None if it was not."""
    until = ends_at(pod)
    if until is None or pod.metadata is None:
        return None
    return until - timedelta(seconds=pod.metadata.deletionGracePeriodSeconds or 0)


def was_deleted(pod: Pod, ended: ContainerStateTerminated | None) -> bool:
    """Whether a program ended because its pod was deleted.

    Its node says when it ended, the API server when its pod was deleted: of a program that a signal
    has ended, the two are compared with their clocks' skew in mind.
    """
    asked = asked_at(pod)
    if asked is None or ended is None or ended.finishedAt is None:
        return asked is not None
    behind = CLOCK_SKEW if ended.exitCode in STOPPED else timedelta()
    return ended.finishedAt + behind >= asked


def program_did(ended: ContainerStateTerminated | None, memory: str) -> tuple[str, str]:
    """Why a program failed, in its own words if it left any: a reason and a message.

    Args:
        ended: How it ended.
        memory: What to do if it needs more memory.
    """
    text = (ended.message if ended else None) or ""
    if ended and ended.reason == "OOMKilled":
        return "OutOfMemory", f"it exceeded its memory limit and was killed; {memory}"
    if ended and ended.reason in _START_FAILED:
        advice = "check the image and the command"
        detail = shown(text, LONGEST // 2)
        return "StartFailed", f"its program cannot be started; {advice} ({detail})"
    if words := own_words(text):
        return words.reason, words.message
    said = f"exit code {ended.exitCode if ended else 0}"
    last = shown(text, LONGEST - len(said) - 2)
    return "NonZeroExit", f"{said}: {last}" if last else said
