"""Why a container does not run, and what its owner can do."""

from __future__ import annotations

import re
import signal

from lightkube.models.core_v1 import ContainerStateTerminated, ContainerStatus

from devctl.api.devserver import Phase
from devctl.api.image_pulls import PULL_FAILURES, pull_error
from devctl_observer.judging.model import Verdict

CRASHES = 3
"""Restarts after which a container that is not ready counts as crashing even while it runs."""

_MISSING = re.compile(r"not found|does not exist|name unknown|manifest unknown", re.IGNORECASE)
_DENIED = re.compile(r"unauthorized|denied|authentication|authorization|forbidden", re.IGNORECASE)
_ADVICE = {
    "OutOfMemory": "choose a flavor with more memory",
    "StartFailed": "check the image's command and user",
    "CrashLoop": "see its last output with `kubectl logs --previous`",
}
"""What to do about each reason that `describe_exit` returns."""


def judge_container(status: ContainerStatus) -> Verdict | None:
    """What is wrong with a container; None if it is starting or running normally."""
    waiting = status.state.waiting if status.state else None
    if waiting and waiting.reason in PULL_FAILURES:
        return _pull_failed(status.image, waiting.reason, waiting.message or "")
    if crash := _crash(status):
        return crash
    if waiting and waiting.reason == "CreateContainerConfigError":
        message = f"the container is misconfigured: {waiting.message or 'no details given'}"
        return Verdict(Phase.FAILED, "ConfigError", message)
    if waiting and waiting.reason in {"CreateContainerError", "RunContainerError"}:
        detail = waiting.message or "no details given"
        message = f"the container cannot be started: {detail}; check the image's command and user"
        return Verdict(Phase.FAILED, "StartFailed", message)
    return None


def _pull_failed(image: str, reason: str, detail: str) -> Verdict:
    detail = pull_error(detail)
    if reason == "InvalidImageName":
        advice = "the name is invalid: correct it"
    elif _DENIED.search(detail):
        advice = "it does not exist, or the cluster may not pull it: correct its name, or ask an \
administrator for access"
    elif _MISSING.search(detail):
        advice = "it does not exist: correct its name"
    else:
        advice = "check its name, and that its registry can be reached"
    message = f"image `{image}` cannot be pulled; {advice}"
    return Verdict(Phase.FAILED, "ImagePullFailed", f"{message} ({detail})" if detail else message)


def _crash(status: ContainerStatus) -> Verdict | None:
    """A container's last crash, unless it runs again and has not crashed often."""
    state, last = status.state, status.lastState
    now = state.terminated if state else None
    ended = now or (last.terminated if last else None)
    if ended is None or status.ready:
        return None
    waits = bool(state and state.waiting and state.waiting.reason == "CrashLoopBackOff")
    if not (waits or now or status.restartCount >= CRASHES):
        return None
    reason, said = describe_exit(ended)
    restarts = f"restarted {status.restartCount} times" if status.restartCount else "not restarted"
    message = f"container `{status.name}` {said} ({restarts}); {_ADVICE[reason]}"
    # A single exit may be an accident, and Kubernetes restarts the container: no failure yet.
    phase = Phase.FAILED if waits or status.restartCount >= CRASHES else Phase.STARTING
    return Verdict(phase, reason, message)


def describe_exit(ended: ContainerStateTerminated) -> tuple[str, str]:
    """A reason, and the predicate of a sentence, for how a container ended."""
    if ended.reason == "OOMKilled":
        return "OutOfMemory", "exceeded its memory limit and was killed"
    if ended.reason == "StartError":
        return "StartFailed", f"cannot be started: {ended.message or 'no details given'}"
    number = ended.signal or ended.exitCode - 128
    if number > 0:
        try:
            name = signal.Signals(number).name
        except ValueError:
            name = f"signal {number}"
        return "CrashLoop", f"was terminated by {name} (exit code {ended.exitCode})"
    return "CrashLoop", f"exited with code {ended.exitCode}"
