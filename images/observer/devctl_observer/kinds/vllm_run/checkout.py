"""The container that makes a run's checkout, before its program starts."""

from __future__ import annotations

from lightkube.models.core_v1 import ContainerState, Pod

from devctl.api.vllm_run import CHECKOUT, CHECKOUT_CODES
from devctl_observer.judging.printable import LONGEST, shown

BUILDING, FAILED = "BuildingCheckout", "CheckoutFailed"
_PREFIX = "error: "
_REPOSITORY = 91
_ADVICE = "the CachePlan's repository has to have it in its branch, or name it as its commit"


def judge_building(pod: Pod) -> tuple[str, str] | None:
    """That it is at work: a reason and a message; None if it is not."""
    state = _state(pod)
    return (BUILDING, "building the checkout") if state and state.running else None


def judge_checkout(pod: Pod) -> tuple[str, str] | None:
    """Why there is no checkout: a reason and a message; None if that is not why a pod ended."""
    state = _state(pod)
    ended = state.terminated if state else None
    # Too little memory is told as that of the program is.
    if ended is None or not ended.exitCode or ended.reason == "OOMKilled":
        return None
    said = shown((ended.message or "").strip().removeprefix(_PREFIX), LONGEST // 2)
    if ended.exitCode == _REPOSITORY and said:
        return FAILED, f"{said}; {_ADVICE}"
    if ended.exitCode in CHECKOUT_CODES:
        return FAILED, said or f"its checkout cannot be made (exit code {ended.exitCode})"
    detail = said or f"exit code {ended.exitCode}"
    needs = "its checkout cannot be made: the image needs `python3`, from 3.10 on, and `git`"
    return FAILED, f"{needs} ({detail})"


def _state(pod: Pod) -> ContainerState | None:
    statuses = (pod.status.initContainerStatuses if pod.status else None) or []
    return next((each.state for each in statuses if each.name == CHECKOUT), None)
