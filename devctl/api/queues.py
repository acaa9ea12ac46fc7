"""Names of queues: what roles create for Kueue, and what Kueue calls its own."""

from __future__ import annotations

import re
from enum import StrEnum
from hashlib import sha256

from devctl.api.labels import GROUP

QUEUES, ENABLED = f"{GROUP}/queues", "enabled"
"""Label of a namespace, and its value: Kueue queues what is in there and names a queue."""

TEAM = f"{GROUP}/team"
"""Annotation of a namespace: the team of its user. Admission fills it into servers and jobs."""

PRIORITY = f"{GROUP}/priority"
"""Annotation of a namespace: the highest priority of its servers and jobs, and the default."""

TEAM_LABEL, FLAVOR_LABEL = f"{GROUP}/devserverteam", f"{GROUP}/devserverflavor"
"""Labels: whose queue or flavor of Kueue's an object is, as `label_value` gives it."""

QUEUE_NAME = "kueue.x-k8s.io/queue-name"
"""Kueue's label of a StatefulSet or pod: the LocalQueue that admits it."""

PRIORITY_CLASS = "kueue.x-k8s.io/priority-class"
"""Kueue's label of a StatefulSet or pod: its WorkloadPriorityClass."""

MARK = {"kueue.x-k8s.io/pod-suspending-parent": "statefulset"}
"""Kueue's annotation of a pod template: its webhook would add it, and every apply remove it."""

FINALIZER = "kueue.x-k8s.io/managed"
"""Kueue's finalizer of a pod without a StatefulSet, which it removes when the pod ends."""

CLUSTER_QUEUES = "clusterqueues.kueue.x-k8s.io"
"""The CustomResourceDefinition by which roles recognise that Kueue is installed."""

KUEUE = "kueue.x-k8s.io/v1beta2"
"""The API version of all of Kueue's objects."""

COHORT = "devctl"
"""The cohort of teams that name none."""

MEMBERS = "devctl-team"
"""RoleBinding in a member's namespace: what the others may do there."""
MEMBER_ROLES = {"view": "devctl-team-view", "stop": "devctl-team-stop"}
"""The ClusterRole of other members, by a team's spec.members."""

NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,48}[a-z0-9])?", re.ASCII)
NAME_RULE = "have at most 50 lower-case letters, digits and '-', and start and end without '-'"
"""The CRD's rule for names of teams: no dots, which end a team's part of a queue's name."""

_LONGEST = 63
_HASHED = re.compile(r"-[0-9a-f]{8}\Z")


class Priority(StrEnum):
    """Who is admitted first among those who wait for the same quota, in ascending order."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"


PRIORITIES = {"devctl-low": -1000, "devctl-normal": 0, "devctl-high": 1000}
"""The WorkloadPriorityClasses, by name; Kueue's own default is 0."""


def local_queue(flavor: str) -> str:
    """The LocalQueue of a flavor, the same in each namespace; injective, and a label value.

    >>> local_queue("gpu-large")
    'devctl-gpu-large'
    """
    return _shortened(f"devctl-{flavor}")


def cluster_queue(team: str, flavor: str) -> str:
    """The ClusterQueue with a team's quota of a flavor; injective, since teams have no dots.

    >>> cluster_queue("vision", "gpu-large")
    'vision.gpu-large'
    """
    return _shortened(f"{team}.{flavor}")


def priority_class(priority: str) -> str:
    """The WorkloadPriorityClass of a priority.

    >>> priority_class(Priority.HIGH)
    'devctl-high'
    """
    return f"devctl-{priority}"


def queue_labels(flavor: str, priority: str | None) -> dict[str, str]:
    """The labels by which Kueue queues an object; without a priority, it is normal.

    >>> queue_labels("small", None)[QUEUE_NAME]
    'devctl-small'
    """
    return {
        QUEUE_NAME: local_queue(flavor),
        PRIORITY_CLASS: priority_class(priority or Priority.NORMAL),
    }


def label_value(name: str) -> str:
    """The name of a flavor as a label may hold it; injective.

    >>> label_value("gpu-large")
    'gpu-large'
    """
    return _shortened(name)


def _shortened(name: str) -> str:
    """The name itself, or its beginning and a hash if it is too long, or looks as if it had one."""
    if len(name) <= _LONGEST and not _HASHED.search(name):
        return name
    return f"{name[: _LONGEST - 9].rstrip('-.')}-{sha256(name.encode()).hexdigest()[:8]}"
