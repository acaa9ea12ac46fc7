"""At more of the machines than the user was given, and at the machines themselves."""

from __future__ import annotations

from support.attempts import attempt
from support.escapes.escape import (
    CLASS,
    KUEUE,
    POD,
    Escape,
    try_container,
    try_marked_pod,
    try_pod,
)
from support.user_attempts import HARDENED, LABEL, OPEN, OWN, SERVERS, named

QUEUED = try_marked_pod(labels={f"{KUEUE}/queue-name": "mine"})
CONTAINER = HARDENED["containers"][0]

QUEUES = (
    Escape(
        "take a priority in the queue",
        try_marked_pod(
            labels={f"{KUEUE}/queue-name": "mine", f"{KUEUE}/priority-class": "devctl-high"}
        ),
        "cannot set `kueue.x-k8s.io/priority-class`",
        QUEUED,
    ),
    Escape(
        "start on what another workload was granted",
        try_marked_pod(labels={f"{KUEUE}/prebuilt-workload-name": "lab"}),
        "cannot set `kueue.x-k8s.io/prebuilt-workload-name`",
        QUEUED,
    ),
    Escape(
        "tell the queue that someone else waits",
        try_marked_pod(annotations={f"{KUEUE}/pod-suspending-parent": "statefulset"}),
        "cannot set `kueue.x-k8s.io/pod-suspending-parent`",
        QUEUED,
    ),
    Escape(
        "scale what a server runs in",
        attempt(
            "PATCH /apis/apps/v1/namespaces/{own}/statefulsets/lab/scale",
            {"spec": {"replicas": 9}},
        ),
        'cannot patch resource "statefulsets/scale"',
    ),
    Escape(
        "take an administrator's priority",
        try_pod(priorityClassName=CLASS),
        f"priority class `{CLASS}` is reserved",
        POD,
    ),
    Escape(
        "take the system's priority",
        try_pod(priorityClassName="system-node-critical"),
        "priority class `system-node-critical` is reserved",
        POD,
    ),
    Escape("take a priority by number", try_pod(priority=1000), "must not be provided", POD),
    Escape(
        "create a priority",
        attempt("POST /apis/scheduling.k8s.io/v1/priorityclasses", named(value=1000)),
        'cannot create resource "priorityclasses"',
    ),
    Escape(
        "request more than the quota",
        try_pod(containers=[CONTAINER | {"resources": {"requests": {"cpu": "64"}}}]),
        "exceeded quota: devctl-quota",
        POD,
    ),
    Escape(
        "lift the quota",
        attempt(f"DELETE {OWN}/resourcequotas/devctl-quota"),
        'cannot delete resource "resourcequotas"',
    ),
    Escape(
        "reset what the quota counts",
        attempt(f"PATCH {OWN}/resourcequotas/devctl-quota/status", {"status": {"used": {}}}),
        'cannot patch resource "resourcequotas/status"',
    ),
    Escape(
        "raise the quota",
        attempt(f"PATCH {SERVERS}/devserverusers/{{name}}", {"spec": {"quota": {"servers": 99}}}),
        'cannot patch resource "devserverusers"',
    ),
    Escape(
        "block evictions",
        attempt(
            "POST /apis/policy/v1/namespaces/{own}/poddisruptionbudgets",
            named(spec={"maxUnavailable": 0}),
        ),
        'cannot create resource "poddisruptionbudgets"',
    ),
)

NODES = (
    Escape("list nodes", attempt("GET /api/v1/nodes"), 'cannot list resource "nodes"'),
    Escape(
        "reach every pod through a node",
        attempt("GET /api/v1/nodes/plane-1/proxy/pods"),
        'cannot get resource "nodes/proxy"',
    ),
    Escape(
        "label a node",
        attempt("PATCH /api/v1/nodes/plane-1", LABEL),
        'cannot patch resource "nodes"',
    ),
    Escape("name a node", try_pod(nodeName="plane-1"), "names node `plane-1`", POD),
    Escape(
        "tolerate every taint",
        try_pod(tolerations=[{"operator": "Exists"}]),
        "tolerates the taint `*`",
        try_pod(tolerations=[{"key": "nvidia.com/gpu", "operator": "Exists"}]),
    ),
    Escape(
        "run on the control plane",
        try_pod(
            tolerations=[{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists"}]
        ),
        "tolerates the taint `node-role.kubernetes.io/control-plane`",
        POD,
    ),
    Escape("use the node's network", try_pod(hostNetwork=True), OPEN, POD),
    Escape("see the node's processes", try_pod(hostPID=True), OPEN, POD),
    Escape("use the node's memory", try_pod(hostIPC=True), OPEN, POD),
    Escape(
        "take a port of the node",
        try_pod(containers=[CONTAINER | {"ports": [{"containerPort": 22, "hostPort": 22}]}]),
        OPEN,
        POD,
    ),
    Escape(
        "run privileged",
        try_container(allowPrivilegeEscalation=True, privileged=True),
        "privileged",
        POD,
    ),
    Escape("gain privileges", try_container(allowPrivilegeEscalation=True), OPEN, POD),
    Escape("keep a capability", try_container(capabilities={"add": ["SYS_ADMIN"]}), OPEN, POD),
    Escape(
        "see all of /proc",
        try_container(procMount="Unmasked"),
        "must be false to use `Unmasked`",
        POD,
    ),
    Escape("make any system call", try_container(seccompProfile={"type": "Unconfined"}), OPEN, POD),
    Escape("run as root", try_pod(securityContext={"runAsUser": 0}), OPEN, POD),
    Escape(
        "set a parameter of the kernel",
        try_pod(
            securityContext=HARDENED["securityContext"]
            | {"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}
        ),
        OPEN,
        POD,
    ),
    Escape(
        "debug with another container",
        attempt(
            f"PATCH {OWN}/pods/lab-0/ephemeralcontainers",
            {"spec": {"ephemeralContainers": [{**CONTAINER, "name": "spy"}]}},
        ),
        'cannot patch resource "pods/ephemeralcontainers"',
    ),
)
