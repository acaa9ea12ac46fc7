"""When to trigger a run's role again.

The run has ended, so its claim is given back; its pod has expired; a child is lost; the CachePlan
has changed; or an obstacle is gone.
"""

from __future__ import annotations

from devctl.api.applied import Reason
from devctl.api.vllm_run import claim_name, pod_name
from devctl_observer.control.role_controller import Cause, Known, usual_cause
from devctl_observer.judging.conditions import failure
from devctl_observer.judging.pods import node_of
from devctl_observer.kinds.vllm_run.model import VLLMRun
from devctl_observer.kinds.vllm_run.observed import Observed
from devctl_observer.kinds.vllm_run.status import has_expired


def cause(run: VLLMRun, plan: str, known: Known) -> Cause:
    """Why to trigger the role; empty for no reason.

    Args:
        run: The run, with the status that the role will see.
        plan: Identifies what the CachePlan says.
        known: What the process knows besides.
    """
    if run.going:
        return ()
    if run.finished:
        step = "expired" if has_expired(run) else "finished"
        return step, str(run.status.get("finishedAt", ""))
    named = run.spec.image_name or run.spec.repo_name or run.spec.models
    if named and failure(run).get("reason") == Reason.INVALID:
        return "plan", str(run.metadata.generation), plan
    return usual_cause(run, known)


def missing(seen: Observed) -> list[str]:
    """The children that the role creates and that are missing.

    A missing pod whose program ran means the end, not a loss, and a claim is never created again
    beneath a pod that may use it.
    """
    run = seen.run
    if run.finished or seen.began:
        return []
    placed = seen.pod is not None and node_of(seen.pod)
    claim = [] if seen.claim or placed else [claim_name(run.metadata.name)]
    pod = [pod_name(run.metadata.name)] if seen.pod is None and not seen.taken else []
    return [*claim, *pod]
