"""What users try that have one of the roles of devctl: what they may, and what they must not.

`{own}` is the sender's namespace, `{other}` another user's, `{me}` the sender, `{account}` the name
of their account. In both namespaces there are a server `lab` and a job `box`.
"""

from __future__ import annotations

from typing import Any

from support.attempts import attempt
from support.servers import SMALL

from devctl.api import ephemeral_acceleration_job as job
from devctl.api import labels

Thing = dict[str, Any]
USER, JOB_USER = "devctl-user", "devctl-job-user"
DEVOPS, GPU = labels.GROUP, job.GROUP
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
SERVERS, JOBS = f"/apis/{DEVOPS}/{labels.VERSION}", f"/apis/{GPU}/{job.VERSION}"
FLAVOR = f"{SERVERS}/devserverflavors/{{own}}"
OWN, OTHER, SYSTEM = (
    f"/api/v1/namespaces/{place}" for place in ("{own}", "{other}", "devctl-system")
)
OWN_SERVERS, OTHER_SERVERS = (
    f"{SERVERS}/namespaces/{place}/devservers" for place in ("{own}", "{other}")
)
OWN_JOBS, OTHER_JOBS = (
    f"{JOBS}/namespaces/{place}/ephemeralaccelerationjobs" for place in ("{own}", "{other}")
)
EXEC = "exec?command=id&stdout=true"
LABEL = {"metadata": {"labels": {"team": "blue"}}}
CONTAINER = {"name": "main", "image": "none:1"}
TINY = {"requests": {"storage": "1Mi"}}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": TINY}
REFUSED = "is written by devctl only"


def named(name: str = "made", /, **fields: Any) -> Thing:
    """An object of a name; what kind it is, the path says."""
    return {"metadata": {"name": name}, **fields}


def bound(role: str) -> Thing:
    """A binding that gives the user a role of the cluster's."""
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
    subject = {"kind": "ServiceAccount", "name": USER, "namespace": "{own}"}
    return named(roleRef=reference, subjects=[subject])


def server(metadata: Thing | None = None, /, **spec: Any) -> Thing:
    """A stopped server of the sender's own."""
    common = {"owner": "{me}", "flavor": "{own}", "image": "none:1", "persistentHomeSize": "10Mi"}
    return {
        "apiVersion": f"{DEVOPS}/{labels.VERSION}",
        "kind": "DevServer",
        "metadata": {"name": "made", **(metadata or {})},
        "spec": {**common, "stopped": True, **spec},
    }


def flavor() -> Thing:
    """A flavor for small servers."""
    kind = {"apiVersion": f"{DEVOPS}/{labels.VERSION}", "kind": "DevServerFlavor"}
    return {**kind, **named(spec={"resources": SMALL})}


def small_job(metadata: Thing | None = None, /, **spec: Any) -> Thing:
    """A job that does nothing."""
    return {
        "apiVersion": f"{GPU}/{job.VERSION}",
        "kind": job.KIND,
        "metadata": {"name": "made", **(metadata or {})},
        "spec": {"image": "none:1", "suspend": True} | spec,
    }


EVERYTHING = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
HOOK = {
    "name": "hook.example.com",
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
    "clientConfig": {"url": "https://example.com/"},
}
WORKLOAD = {
    "selector": {"matchLabels": {"app": "x"}},
    "template": {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [CONTAINER]}},
}
POD = {"containers": [CONTAINER]}
HARDENED: Thing = {
    "securityContext": {
        "runAsNonRoot": True,
        "runAsUser": 1000,
        "seccompProfile": {"type": "RuntimeDefault"},
    },
    "containers": [
        CONTAINER
        | {
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
            }
        }
    ],
}
REVIEW = {"spec": {"user": "x", "nonResourceAttributes": {"path": "/", "verb": "get"}}}

# To another user, in whose namespace nothing is bound to them.
OTHERS = (
    attempt(f"GET {OTHER}/secrets"),
    attempt(f"GET {OTHER}/secrets/token"),
    attempt(f"GET {OTHER}/configmaps"),
    attempt(f"GET {OTHER}/pods"),
    attempt(f"GET {OTHER}/pods/lab-0/log"),
    attempt(f"GET {OTHER}/pods/lab-0/{EXEC}"),
    attempt(f"POST {OTHER}/pods/lab-0/{EXEC}"),
    attempt(f"GET {OTHER}/pods/lab-0/attach?stdout=true"),
    attempt(f"POST {OTHER}/pods/lab-0/attach?stdout=true"),
    attempt(f"GET {OTHER}/pods/lab-0/portforward?ports=22"),
    attempt(f"POST {OTHER}/pods/lab-0/portforward?ports=22"),
    attempt(f"GET {OTHER}/pods/lab-0/proxy/"),
    attempt(f"POST {OTHER}/pods/lab-0/eviction", named("lab-0")),
    attempt(f"POST {OTHER}/pods", named(spec=HARDENED)),
    attempt(f"DELETE {OTHER}/pods/lab-0"),
    attempt(f"GET {OTHER}/events"),
    attempt(f"GET {OTHER}/persistentvolumeclaims"),
    attempt(f"DELETE {OTHER}/persistentvolumeclaims/home-lab-0"),
    attempt(f"POST {OTHER}/serviceaccounts/default/token", {"spec": {}}),
    attempt(f"GET {OTHER_SERVERS}"),
    attempt(f"GET {OTHER_SERVERS}/lab"),
    attempt(f"POST {OTHER_SERVERS}", server()),
    attempt(f"PATCH {OTHER_SERVERS}/lab", {"spec": {"stopped": True}}),
    attempt(f"DELETE {OTHER_SERVERS}/lab"),
    attempt(f"GET {OTHER_JOBS}"),
    attempt(f"POST {OTHER_JOBS}", small_job()),
    attempt(f"PATCH {OTHER_JOBS}/box", LABEL),
    attempt(f"DELETE {OTHER_JOBS}/box"),
    attempt(f"GET {SERVERS}/devservers"),
    attempt(f"GET {JOBS}/ephemeralaccelerationjobs"),
    attempt("GET /api/v1/secrets"),
    attempt("GET /api/v1/pods"),
    attempt("GET /version", user="system:serviceaccount:{other}:default"),
)

# To the platform: nodes, devctl itself, the rules that hold for everybody.
PLATFORM = (
    attempt("GET /api/v1/nodes"),
    attempt("GET /api/v1/nodes/plane-1/proxy/pods"),
    attempt("PATCH /api/v1/nodes/plane-1", LABEL),
    attempt("PATCH /api/v1/nodes/plane-1/status", {"status": {"capacity": {"x.com/y": "1"}}}),
    attempt("GET /api/v1/persistentvolumes"),
    attempt("GET /api/v1/namespaces"),
    attempt("POST /api/v1/namespaces", named()),
    attempt(f"PATCH {OWN}", LABEL),
    attempt(f"DELETE {OWN}"),
    attempt(f"GET {SYSTEM}/secrets"),
    attempt(f"GET {SYSTEM}/pods"),
    attempt(f"POST {SYSTEM}/serviceaccounts/devctl-operator/token", {"spec": {}}),
    attempt(f"POST {SYSTEM}/pods", named(spec=HARDENED)),
    attempt(f"PATCH {SYSTEM}/configmaps/devctl-settings", {"data": {"image": "mine:1"}}),
    attempt("GET /apis/coordination.k8s.io/v1/namespaces/devctl-system/leases"),
    attempt(f"PATCH {FLAVOR}", {"spec": {"default": True}}),
    attempt(f"DELETE {FLAVOR}"),
    attempt(f"POST {SERVERS}/devserverflavors", flavor()),
    attempt(f"PATCH {FLAVOR}/status", {"status": {"schedulable": True}}),
    attempt(
        f"PATCH /apis/apiextensions.k8s.io/v1/customresourcedefinitions/devservers.{DEVOPS}", LABEL
    ),
    attempt(f"DELETE /apis/apiextensions.k8s.io/v1/customresourcedefinitions/devservers.{DEVOPS}"),
    attempt(f"DELETE {ADMISSION}/validatingadmissionpolicies/devctl-children"),
    attempt(f"PATCH {ADMISSION}/validatingadmissionpolicies/devctl-children", LABEL),
    attempt(f"DELETE {ADMISSION}/validatingadmissionpolicybindings/devctl-children"),
    attempt(f"POST {ADMISSION}/validatingwebhookconfigurations", named(webhooks=[HOOK])),
    attempt(f"POST {ADMISSION}/mutatingwebhookconfigurations", named(webhooks=[HOOK])),
    attempt(
        "POST /apis/scheduling.k8s.io/v1/priorityclasses",
        named(value=1000, globalDefault=True),
    ),
    attempt("POST /apis/storage.k8s.io/v1/storageclasses", named(provisioner="example.com/x")),
    attempt("DELETE /apis/storage.k8s.io/v1/storageclasses/devctl-home"),
    attempt("GET /apis/certificates.k8s.io/v1/certificatesigningrequests"),
    attempt("GET /metrics"),
)

# To get more rights than they have been given.
RIGHTS = (
    attempt(f"POST {RBAC}/clusterroles", named(rules=EVERYTHING)),
    attempt(f"PATCH {RBAC}/clusterroles/{USER}", {"rules": EVERYTHING}),
    attempt(f"PATCH {RBAC}/clusterroles/{JOB_USER}", {"rules": EVERYTHING}),
    attempt(f"POST {RBAC}/clusterrolebindings", bound("cluster-admin")),
    attempt(f"POST {RBAC}/namespaces/{{own}}/roles", named(rules=EVERYTHING)),
    attempt(f"POST {RBAC}/namespaces/{{own}}/rolebindings", bound("cluster-admin")),
    attempt(f"POST {RBAC}/namespaces/{{own}}/rolebindings", bound("devctl-administrator")),
    attempt(f"POST {RBAC}/namespaces/{{other}}/rolebindings", bound(USER)),
    attempt(f"PATCH {RBAC}/namespaces/{{own}}/rolebindings/{USER}-{USER}", {"subjects": []}),
    attempt("GET /version", user="system:admin"),
    attempt("GET /version", user="system:serviceaccount:devctl-system:devctl-operator"),
    attempt("GET /version", user="{me}", group="system:masters"),
    attempt(f"POST {OWN}/serviceaccounts", named()),
    attempt(f"POST {OWN}/serviceaccounts/default/token", {"spec": {}}),
    attempt("POST /apis/authorization.k8s.io/v1/subjectaccessreviews", REVIEW),
    attempt("POST /apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": "x"}}),
)

# In their own namespace, what devctl alone does.
INSIDE = (
    attempt(f"PATCH {OWN}/configmaps/kube-root-ca.crt", {"data": {"ca.crt": "mine"}}),
    attempt(f"POST {OWN}/secrets", named()),
    attempt(f"GET {OWN}/secrets"),
    attempt(f"GET {OWN}/secrets/token"),
    attempt(
        f"POST {OWN}/services", named(spec={"externalIPs": ["192.0.2.1"], "ports": [{"port": 1}]})
    ),
    attempt(f"PATCH {OWN}/persistentvolumeclaims/home-lab-0", LABEL),
    attempt(f"PATCH {OWN}/pods/lab-0", LABEL),
    attempt(f"PATCH {OWN}/pods/lab-0/status", {"status": {"message": "fine"}}),
    attempt(f"PATCH {OWN}/pods/lab-0/resize", {"spec": {}}),
    attempt(
        f"PATCH {OWN}/pods/lab-0/ephemeralcontainers",
        {"spec": {"ephemeralContainers": [{**HARDENED["containers"][0], "name": "spy"}]}},
    ),
    attempt(f"POST {OWN}/pods/lab-0/eviction", named("lab-0")),
    attempt(f"DELETE {OWN}/pods"),
    attempt(f"DELETE {OWN}/persistentvolumeclaims"),
    attempt(f"DELETE {OWN_SERVERS}"),
    attempt(f"DELETE {OWN_JOBS}"),
    attempt("PATCH /apis/apps/v1/namespaces/{own}/statefulsets/lab", LABEL),
    attempt(
        "PATCH /apis/apps/v1/namespaces/{own}/statefulsets/lab/scale", {"spec": {"replicas": 9}}
    ),
    attempt("POST /apis/apps/v1/namespaces/{own}/deployments", named(spec=WORKLOAD)),
    attempt(
        "POST /apis/batch/v1/namespaces/{own}/jobs",
        named(spec={"template": {"spec": {"containers": [CONTAINER], "restartPolicy": "Never"}}}),
    ),
    attempt(f"PATCH {OWN_SERVERS}/lab/status", {"status": {"phase": "Running"}}),
    attempt(f"PATCH {OWN_JOBS}/box/status", {"status": {"phase": "Succeeded"}}),
    attempt(
        "POST /apis/networking.k8s.io/v1/namespaces/{own}/networkpolicies",
        named(spec={"podSelector": {}}),
    ),
    attempt(
        "POST /apis/policy/v1/namespaces/{own}/poddisruptionbudgets",
        named(spec={"maxUnavailable": 0}),
    ),
    attempt(f"POST {OWN}/resourcequotas", named(spec={"hard": {"pods": "0"}})),
    attempt(f"POST {OWN}/limitranges", named(spec={"limits": []})),
)

FORBIDDEN = (*OTHERS, *PLATFORM, *RIGHTS, *INSIDE)
# What one of the two roles gives and the other one does not.
OF_SERVERS = (
    attempt(f"GET {OWN}/pods/lab-0/portforward?ports=22"),
    attempt(f"POST {OWN}/pods/lab-0/portforward?ports=22"),
    attempt(f"GET {OWN_SERVERS}"),
    attempt(f"GET {OWN_SERVERS}/lab"),
    attempt(f"POST {OWN_SERVERS}", server()),
    attempt(f"PATCH {OWN_SERVERS}/lab", {"spec": {"stopped": True}}),
    attempt(f"DELETE {OWN_SERVERS}/lab"),
)
OF_JOBS = (
    attempt(f"POST {OWN}/persistentvolumeclaims", named("capsule-0123456789abcdef", spec=CLAIM)),
    attempt(f"POST {OWN}/pods", named(spec=HARDENED)),
    attempt(f"DELETE {OWN}/pods/lab-0"),
    attempt(f"GET {OWN}/pods/lab-0/attach?stdout=true"),
    attempt(f"POST {OWN}/pods/lab-0/attach?stdout=true"),
    attempt(f"GET {OWN_JOBS}"),
    attempt(f"GET {OWN_JOBS}/box"),
    attempt(f"POST {OWN_JOBS}", small_job()),
    attempt(f"PATCH {OWN_JOBS}/box", LABEL),
    attempt(f"DELETE {OWN_JOBS}/box"),
)
OF_BOTH = (
    attempt(f"GET {OWN}/pods"),
    attempt(f"GET {OWN}/pods/lab-0"),
    attempt(f"GET {OWN}/pods/lab-0/log"),
    attempt(f"GET {OWN}/pods/lab-0/{EXEC}"),
    attempt(f"POST {OWN}/pods/lab-0/{EXEC}"),
    attempt(f"GET {OWN}/events"),
    attempt(f"GET {OWN}/persistentvolumeclaims"),
    attempt(f"DELETE {OWN}/persistentvolumeclaims/artifacts-{{account}}"),
    attempt(f"GET {SERVERS}/devserverflavors"),
    attempt(f"GET {FLAVOR}"),
    attempt(f"GET {SERVERS}/lifecyclepolicies"),
    attempt("GET /version"),
)


def marked(spec: Any, /, **metadata: Any) -> Thing:
    """An object with metadata that is not its user's to write."""
    return {"metadata": {"name": "made", **metadata}, "spec": spec}


def owned(kind: str, group: str) -> Thing:
    """A pod that says that it belongs to a server or a job."""
    uid = "00000000-0000-4000-8000-000000000000"
    owner = {"apiVersion": f"{group}/v1", "kind": kind, "name": "lab", "uid": uid}
    return marked(HARDENED, ownerReferences=[owner])


def loose(**spec: Any) -> Thing:
    """A pod that is hardened but for a few fields."""
    return named(spec=HARDENED | spec)


FRAMEWORK = {"ansible.sdk.operatorframework.io/reconcile-period": "1ms"}
HOST = [{"name": "host", "hostPath": {"path": "/"}}]
OPEN = "violates PodSecurity"
HOME = f"{OWN}/persistentvolumeclaims/home-lab-0"
OTHERS_HOME = "home `home-lab-0` belongs to `somebody`"
ARTIFACTS = f"{OWN}/persistentvolumeclaims/artifacts-box"
OTHERS_VOLUME = "volume `artifacts-box` belongs to `kubernetes-admin`"
# What the role would let through, and a rule of the cluster's does not.
AGAINST_RULES = (
    (USER, attempt(f"POST {OWN_SERVERS}", server(owner="bob")), "is not you"),
    (USER, attempt(f"PATCH {OWN_SERVERS}/lab", {"spec": {"owner": "bob"}}), "owner"),
    (USER, attempt(f"POST {OWN_SERVERS}", server({"labels": {f"{DEVOPS}/x": "y"}})), REFUSED),
    (USER, attempt(f"POST {OWN_SERVERS}", server({"annotations": FRAMEWORK})), "cannot be set"),
    (USER, attempt(f"DELETE {HOME}"), OTHERS_HOME),
    (JOB_USER, attempt(f"DELETE {HOME}"), OTHERS_HOME),
    (USER, attempt(f"DELETE {ARTIFACTS}"), OTHERS_VOLUME),
    (JOB_USER, attempt(f"DELETE {ARTIFACTS}"), OTHERS_VOLUME),
    (JOB_USER, attempt(f"POST {OWN}/persistentvolumeclaims", named(spec=CLAIM)), "for no capsule"),
    (JOB_USER, attempt(f"POST {OWN_JOBS}", small_job(owner="bob")), "is not you"),
    (JOB_USER, attempt(f"POST {OWN_JOBS}", small_job({"annotations": FRAMEWORK})), "cannot be set"),
    (JOB_USER, attempt(f"POST {OWN_JOBS}", small_job({"labels": {f"{GPU}/x": "y"}})), REFUSED),
    (JOB_USER, attempt(f"POST {OWN}/pods", marked(HARDENED, labels={f"{GPU}/x": "y"})), REFUSED),
    (JOB_USER, attempt(f"POST {OWN}/pods", marked(HARDENED, labels={f"{DEVOPS}/x": "y"})), REFUSED),
    (JOB_USER, attempt(f"POST {OWN}/pods", owned("DevServer", DEVOPS)), REFUSED),
    (JOB_USER, attempt(f"POST {OWN}/pods", owned(job.KIND, GPU)), REFUSED),
    (JOB_USER, attempt(f"POST {OWN}/pods", named(spec=POD)), OPEN),
    (JOB_USER, attempt(f"POST {OWN}/pods", loose(hostNetwork=True)), OPEN),
    (JOB_USER, attempt(f"POST {OWN}/pods", loose(hostPID=True)), OPEN),
    (JOB_USER, attempt(f"POST {OWN}/pods", loose(volumes=HOST)), OPEN),
    (JOB_USER, attempt(f"POST {OWN}/pods", loose(securityContext={"runAsUser": 0})), OPEN),
    (
        JOB_USER,
        attempt(f"POST {OWN}/pods", loose(serviceAccountName="devctl-operator")),
        "not found",
    ),
    (
        JOB_USER,
        attempt(f"POST {OWN}/pods", loose(priorityClassName="system-node-critical")),
        "exceeded quota",
    ),
)
