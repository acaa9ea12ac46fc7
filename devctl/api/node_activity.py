"""NodeActivity: what the agent of a node reports about the dev servers' pods on it.

Cluster-scoped, one per node and named like it. The observer creates it and writes its spec; the
node's agent writes its status. Both sides count in ages (seconds), never in wall-clock times.
"""

from __future__ import annotations

from enum import StrEnum

from devctl.api.labels import GROUP, VERSION

KIND = "NodeActivity"
PLURAL = "nodeactivities"
API_VERSION = f"{GROUP}/{VERSION}"

AGENT_NAMESPACE = "devctl-node-agent"
AGENT = "devctl-node-agent"
"""The name of the agent's DaemonSet and service account."""

SAMPLE_SECONDS = 10
"""How often the agent looks at its pods: the resolution of all ages."""
REPORT_SECONDS = 60
"""The longest time between two reports of a healthy agent."""
MIN_REPORT_SECONDS = 10
"""The shortest time between two reports, unless an age in spec.pods[].reportAt is reached."""
SECOND_REPORT_SECONDS = 5
"""How long after such an age the agent reports again, to fetch a notice."""
FRESH_SECONDS = 150
"""An older report is missing: its pods count as active."""

MAX_PODS = 256
"""In one report; also the kubelet's own limit on large nodes."""
MAX_DETAIL = 128
"""Characters of a signal's detail."""
MAX_NOTICE = 512
"""Characters of a notice."""
MAX_REPORT_AT = 8
"""Ages in spec.pods[].reportAt."""


class Signal(StrEnum):
    """Types of signals. Each is the age of one sort of activity in a pod."""

    CPU = "CPU"
    """CPU time of all containers."""
    DISK = "Disk"
    """Bytes that the pod read and wrote."""
    NETWORK = "Network"
    """Bytes through the pod's interfaces, without `lo`."""
    PROCESS = "Process"
    """A process that does not just wait for its user."""
    TERMINAL = "Terminal"
    """An attached terminal, or input in one."""
    JUPYTER = "Jupyter"
    """A busy kernel, or activity in one of Jupyter's terminals."""
    GPU = "GPU"
    """A process that holds a GPU, or a GPU that is in use."""
    PROBE = "Probe"
    """The pod's own activity probe says so."""


ALWAYS_REPORTED = frozenset(Signal) - {Signal.GPU, Signal.JUPYTER, Signal.PROBE}
"""Signals of every pod: one that is missing is unknown. The others depend on what runs in it."""
