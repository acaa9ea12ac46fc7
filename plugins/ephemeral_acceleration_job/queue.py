"""How a job of a team waits in the queue of a flavor.

Kueue counts what the pod requests. A ClusterQueue covers what its flavor requests: anything else in
a pod would never be admitted, and what the pod does not request is not counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apply.errors import ApplyError

from devctl.api import queues
from devctl.api.applied import Reason
from devctl.api.flavors import choose, offer
from devctl.api.placing import with_limits
from devctl.api.quantities import GPU, parse_quantity, times
from devctl.api.team_quotas import most_pods

_OWN = frozenset({"cpu", "memory", GPU})
"""Resources that a job's spec sets."""


def queue_labels(job: Mapping[str, Any]) -> dict[str, str]:
    """The labels by which Kueue queues the pod; empty without a flavor or outside of teams."""
    spec = job["spec"]
    if not spec.get("flavor") or not spec.get("team"):
        return {}
    return queues.queue_labels(spec["flavor"], spec.get("priority"))


def resources(
    job: Mapping[str, Any], flavors: Sequence[Mapping[str, Any]]
) -> dict[str, dict[str, str]]:
    """The requests and limits of the container.

    Memory is limited to the request; CPU is not, so that a job can use idle cores. In a queue, what
    the job's spec cannot set, such as other vendors' GPUs, is as in the flavor.

    Args:
        job: The job.
        flavors: Every DevServerFlavor.
    """
    wanted = job["spec"]["resources"]
    gpus, memory = wanted["gpu"], str(wanted["memory"])
    limits = {"memory": memory} | ({GPU: str(gpus)} if gpus else {})
    own = {"requests": {"cpu": str(wanted["cpu"]), "memory": memory}, "limits": limits}
    flavor = _find(job, flavors) if queue_labels(job) else None
    given = flavor["resources"] if flavor else {}
    return {
        part: amounts
        | {
            name: str(amount)
            for name, amount in sorted(given.get(part, {}).items())
            if name not in _OWN
        }
        for part, amounts in own.items()
    }


def refuse_unfit(
    job: Mapping[str, Any],
    flavors: Sequence[Mapping[str, Any]],
    teams: Sequence[Mapping[str, Any]],
) -> None:
    """Stop a job that its queue would never admit: it would block the queue.

    Args:
        job: The job.
        flavors: Every DevServerFlavor.
        teams: Every DevServerTeam.

    Raises:
        ApplyError: Flavor or team do not exist, or the job requests what the quota does not cover.
    """
    if not queue_labels(job):
        return
    name, team = str(job["spec"]["flavor"]), str(job["spec"]["team"])
    found = _find(job, flavors)
    if found is None:
        problem = choose(
            name, {str(f["metadata"]["name"]): offer(f["spec"]) for f in flavors}
        ).problem
        raise ApplyError(Reason.INVALID, problem)
    most = most_pods(team, name, teams)
    if most.problem:
        raise ApplyError(Reason.INVALID, most.problem)
    parts = resources(job, flavors)
    covered = with_limits(found["resources"]["requests"], found["resources"].get("limits", {}))
    for resource, amount in sorted(with_limits(parts["requests"], parts["limits"]).items()):
        if resource not in covered:
            raise ApplyError(Reason.INVALID, _uncovered(resource, name))
        bound = times(covered[resource], most.pods)
        if parse_quantity(amount) > parse_quantity(bound):
            message = (
                f"the job requests {amount} {resource}, and team `{team}` can have {bound} at most"
                f" of flavor `{name}`: request less, or ask an administrator to raise the quota"
            )
            raise ApplyError(Reason.INVALID, message)


def _uncovered(resource: str, flavor: str) -> str:
    if resource == GPU:
        return f"flavor `{flavor}` has no {GPU}: set spec.resources.gpu to 0, or choose another one"
    return (
        f"flavor `{flavor}` has no {resource}, which every job requests: choose another one, or ask"
        " an administrator to add it"
    )


def _find(job: Mapping[str, Any], flavors: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The spec of the job's flavor; None if it does not exist."""
    name = job["spec"]["flavor"]
    found = (flavor["spec"] for flavor in flavors if flavor["metadata"]["name"] == name)
    return next(found, None)
