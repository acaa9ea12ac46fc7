"""Names of queues: what roles create for Kueue, and what Kueue calls its own."""

from __future__ import annotations

import re
from enum import StrEnum
from hashlib import sha256

from devctl.api.labels import GROUP

QUEUES, ENABLED = f"{GROUP}/queues", "enabled"
"""Label of a namespace, and its value: Kueue queues what is in there and names a queue."""

TEAM = f"{GROUP}/team"
"""Annotation of a namespace: the team of its user. Admission fills it into servers."""

PRIORITY = f"{GROUP}/priority"
"""Annotation of a namespace: the highest priority of its servers, which is also the default."""

QUEUE_NAME = "kueue.x-k8s.io/queue-name"
"""Kueue's label of a StatefulSet: the LocalQueue that admits its pods."""

PRIORITY_CLASS = "kueue.x-k8s.io/priority-class"
"""Kueue's label of a StatefulSet: its WorkloadPriorityClass."""

CLUSTER_QUEUES = "clusterqueues.kueue.x-k8s.io"
"""The CustomResourceDefinition by which roles recognise that Kueue is installed."""

KUEUE = "kueue.x-k8s.io/v1beta2"
"""The API version of all of Kueue's objects."""

COHORT = "devctl"
"""The cohort of teams that name none."""

_LONGEST = 63
_HASHED = re.compile(r"-[0-9a-f]{8}\Z")


class Priority(StrEnum):
    """Who is admitted first among those who wait for the same quota, in ascending order."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"


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
    """The WorkloadPriorityClass of a server's priority.

    >>> priority_class(Priority.HIGH)
    'devctl-high'
    """
    return f"devctl-{priority}"


def _shortened(name: str) -> str:
    """The name itself, or its beginning and a hash if it is too long, or looks as if it had one."""
    if len(name) <= _LONGEST and not _HASHED.search(name):
        return name
    return f"{name[: _LONGEST - 9].rstrip('-.')}-{sha256(name.encode()).hexdigest()[:8]}"
