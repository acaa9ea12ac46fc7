"""The whole status of a GPUWorkerNode."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from devctl.api.gpu_worker_node import ABSENT, LABELLED
from devctl_observer.judging.conditions import FALSE, TRUE, condition, merge
from devctl_observer.kinds.gpu_worker_node.model import Worker


def worker_status(
    worker: Worker, of_node: Worker | None, now: datetime, *, exists: bool
) -> dict[str, Any]:
    """The desired status.

    Args:
        worker: The GPUWorkerNode.
        of_node: The one that its Node belongs to.
        now: The time of a changed condition.
        exists: Whether there is a Node of that name.
    """
    name = worker.spec.node_name
    other = of_node.metadata.name if of_node else ""
    if worker.going:
        found = condition(LABELLED, FALSE, "Deleting", f"node `{name}` is let go")
    elif other != worker.metadata.name:
        message = (
            f"node `{name}` belongs to GPUWorkerNode `{other}`, which is older: "
            "delete one of the two"
        )
        found = condition(LABELLED, FALSE, "Taken", message)
    elif not exists:
        message = (
            f"the cluster has no node `{name}`: jobs wait until it joins; "
            "if it is gone for good, remove it from the API"
        )
        found = condition(LABELLED, FALSE, "NoNode", message)
    else:
        message = f"node `{name}` shows that it is {worker.spec.state}, and its job slots"
        found = condition(LABELLED, TRUE, "Labelled", message)
    return {
        "phase": LABELLED if found["status"] == TRUE else ABSENT,
        "message": found["message"],
        "observedGeneration": worker.metadata.generation,
        "conditions": merge([found], worker, now),
    }
