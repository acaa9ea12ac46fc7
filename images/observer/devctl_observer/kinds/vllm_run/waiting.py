"""The state of a run that has not ended: what it waits for, that it runs, or that it serves."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from lightkube.models.core_v1 import Pod

from devctl.api import devserver
from devctl.api.messages import listed
from devctl.api.vllm_run import DEVICE_CLASS, Phase, pod_name, url_of
from devctl_observer.judging.conditions import failure
from devctl_observer.judging.exits import started_at
from devctl_observer.judging.pods import ends_at, is_refused, judge_start, node_of, pod_condition
from devctl_observer.judging.printable import shown
from devctl_observer.judging.scheduling import Words
from devctl_observer.kinds.vllm_run.checkout import judge_building
from devctl_observer.kinds.vllm_run.holders import judge_shortage
from devctl_observer.kinds.vllm_run.model import Outcome
from devctl_observer.kinds.vllm_run.observed import Observed

UNSTARTED = timedelta(minutes=2)
"""For how long its container may fail to start: no other run gets its GPUs meanwhile."""
WORDS = Words(
    volume="its volumes",
    less="create it again with less in spec.gpus or spec.resources",
    other="the run; create it again with less in spec.gpus or spec.resources",
)
_CREATING = {"NotReady", "CrashLoop", "OutOfMemory"}
"""Reasons of a container that is about to be reported as running or ended."""


def judge_unfinished(seen: Observed) -> Outcome:
    """The state of a run that has not ended."""
    run, pod = seen.run, seen.pod
    if run.going:
        return Outcome(run.phase, "Deleting", "it is being deleted")
    if pod is None:
        return _without_pod(seen)
    if run.started or started_at(pod):
        return _running(pod, seen)
    return _not_started(pod, seen)


def _without_pod(seen: Observed) -> Outcome:
    if said := failure(seen.run):
        detail = shown(str(said.get("message", ""))) or "it cannot be created"
        return _pending(str(said.get("reason") or "ApplyFailed"), detail)
    if seen.taken:
        name = pod_name(seen.run.metadata.name)
        return _pending("Deleting", f"waiting for pod `{name}` of an earlier run to end")
    return _pending("NotApplied", "the operator is about to create its claim and its pod")


def _not_started(pod: Pod, seen: Observed) -> Outcome:
    node = node_of(pod)
    if ends_at(pod):
        return _pending("Deleting", "its pod is being deleted; the operator creates another one")
    if not node:
        short = judge_shortage(seen.run, seen.view) if _waits_for_gpus(pod, seen) else None
        if short:
            return _pending(*short)
        verdict = judge_start(pod, seen.around, WORDS)
        return _pending(verdict.reason, shown(verdict.message))
    if node not in seen.nodes:
        message = f"node `{node}`, where it is to start, is not ready"
        return Outcome(Phase.STARTING, "NodeNotReady", message)
    if told := judge_building(pod) or _unprepared(pod, seen):
        return Outcome(Phase.STARTING, *told)
    verdict = judge_start(pod, seen.around, WORDS)
    reason = "Creating" if verdict.reason in _CREATING else verdict.reason
    scheduled = pod_condition(pod, "PodScheduled")
    since = scheduled.lastTransitionTime if scheduled else None
    fails = verdict.phase is devserver.Phase.FAILED and since is not None
    until = since + UNSTARTED if fails and since else None
    return Outcome(Phase.STARTING, reason, shown(verdict.message), until=until)


def _waits_for_gpus(pod: Pod, seen: Observed) -> bool:
    """Whether the scheduler has found no node, and the claim holds nothing yet."""
    return is_refused(pod) and not seen.held


def _unprepared(pod: Pod, seen: Observed) -> tuple[str, str] | None:
    """That the driver on the node has not handed out the GPUs."""
    sandbox = pod_condition(pod, "PodReadyToStartContainers")
    if sandbox and sandbox.status == "True":  # the kubelet makes it afterwards
        return None
    name = pod.metadata.name if pod.metadata else None
    failed = "FailedPrepareDynamicResources"
    about = [e for e in seen.around.warnings if e.involvedObject.name == name]
    event = next((event for event in about if event.reason == failed), None)
    if event is None:
        return None
    what = f"the driver of `{DEVICE_CLASS}` on node `{node_of(pod)}` does not hand out its GPUs"
    return "GPUsNotPrepared", f"{what} yet ({shown(event.message or 'no details given')})"


def _running(pod: Pod, seen: Observed) -> Outcome:
    run, node, started = seen.run, node_of(pod), started_at(pod)
    up, not_up = (Phase.SERVING, Phase.STARTING) if run.spec.port else (Phase.RUNNING,) * 2
    if node not in seen.nodes:
        message = f"node `{node}` is not ready; if this persists, the run fails"
        return Outcome(not_up, "NodeNotReady", message, started)
    if ends_at(pod):
        message = f"its pod is being deleted on node `{node}`"
        return Outcome(not_up, "Ending", message, started)
    ready = pod_condition(pod, "Ready")
    if run.spec.port and not (ready and ready.status == "True"):
        when = "does not answer any more" if run.is_up else "does not answer yet"
        message = f"its program is running on node `{node}`, but port {run.spec.port} {when}"
        return Outcome(Phase.STARTING, "NotServing", message, started)
    if run.spec.port:
        url = url_of(run.metadata.name, run.metadata.namespace, run.spec.port)
        found = Outcome(up, "Serving", f"served at {url}, from node `{node}`", started)
    else:
        found = Outcome(up, "Running", f"its program is running on node `{node}`", started)
    return _with_health(found, seen)


def _with_health(found: Outcome, seen: Observed) -> Outcome:
    """The same, unless one of its GPUs has a problem: the program may go on nevertheless."""
    sick = [f"`{gpu.uuid or gpu.device}`" for gpu in seen.gpus if gpu.unhealthy]
    if not sick:
        return found
    message = f"{found.message}; unhealthy: GPU {listed(sick, 4)}"
    return replace(found, reason="UnhealthyGPU", message=message)


def _pending(reason: str, message: str) -> Outcome:
    return Outcome(Phase.PENDING, reason, message)
