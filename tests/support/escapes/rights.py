"""At more rights, at the network, and at what holds for all users."""

from __future__ import annotations

from support.attempts import attempt
from support.escapes.escape import AUTOMATION, Escape, try_pod
from support.user_attempts import (
    ADMISSION,
    DEVOPS,
    EVERYTHING,
    FLAVOR,
    HOOK,
    LABEL,
    OTHER,
    OWN,
    RBAC,
    REVIEW,
    SERVERS,
    SYSTEM,
    USER,
    bound,
    flavor,
    named,
)

ACCOUNT = "system:serviceaccount:devctl-system:devctl-operator"
CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
LEASES = "/apis/coordination.k8s.io/v1/namespaces"
NETWORK = "/apis/networking.k8s.io/v1/namespaces/{own}"
AGGREGATED = {"name": "made", "labels": {f"{DEVOPS}/part-of-role": USER}}
SLICE = {
    "addressType": "IPv4",
    "endpoints": [{"addresses": ["192.0.2.1"]}],
    "ports": [{"port": 1}],
}
API = {
    "group": "example.com",
    "version": "v1",
    "groupPriorityMinimum": 1,
    "versionPriority": 1,
    "service": {"name": "lab", "namespace": "{own}"},
    "insecureSkipTLSVerify": True,
}
ME = {"kind": "User", "name": "{me}", "apiGroup": "rbac.authorization.k8s.io"}

IDENTITY = (
    Escape(
        "impersonate an administrator",
        attempt("GET /version", user="system:admin"),
        "cannot impersonate",
    ),
    Escape(
        "impersonate another user",
        attempt("GET /version", user="bob@company.com"),
        "cannot impersonate",
    ),
    Escape(
        "impersonate a group",
        attempt("GET /version", user="{me}", group="system:masters"),
        "cannot impersonate",
    ),
    Escape(
        "impersonate the operator",
        attempt("GET /version", user=ACCOUNT),
        "cannot impersonate",
    ),
    Escape(
        "have a certificate signed",
        attempt(
            f"POST {CSRS}",
            named(
                spec={
                    "request": "{csr}",
                    "signerName": "kubernetes.io/kube-apiserver-client",
                    "usages": ["client auth"],
                }
            ),
        ),
        'cannot create resource "certificatesigningrequests"',
    ),
    Escape(
        "approve a certificate",
        attempt(f"PATCH {CSRS}/{{csr_name}}/approval", LABEL),
        'cannot patch resource "certificatesigningrequests/approval"',
    ),
    Escape(
        "get the operator's token",
        attempt(f"POST {SYSTEM}/serviceaccounts/devctl-operator/token", {"spec": {}}),
        'cannot create resource "serviceaccounts/token"',
    ),
    Escape(
        "get a token of another user's automation",
        attempt(f"POST {OTHER}/serviceaccounts/devctl-automation/token", {"spec": {}}),
        'cannot create resource "serviceaccounts/token"',
    ),
    Escape(
        "get a token without end",
        attempt(
            f"POST {OWN}/secrets",
            {
                "metadata": {
                    "name": "made",
                    "annotations": {"kubernetes.io/service-account.name": "devctl-automation"},
                },
                "type": "kubernetes.io/service-account-token",
            },
        ),
        'cannot create resource "secrets"',
    ),
    Escape(
        "run as an account of another namespace",
        try_pod(serviceAccountName="devctl-operator"),
        "not found",
        try_pod(serviceAccountName="devctl-automation"),
    ),
    Escape(
        "create an account",
        attempt(f"POST {OWN}/serviceaccounts", named()),
        'cannot create resource "serviceaccounts"',
    ),
    Escape(
        "give an account a role in the cloud",
        attempt(
            f"PATCH {OWN}/serviceaccounts/default",
            {"metadata": {"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/x"}}},
        ),
        'cannot patch resource "serviceaccounts"',
    ),
    Escape(
        "have the API server check a token",
        attempt("POST /apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": "x"}}),
        'cannot create resource "tokenreviews"',
    ),
    Escape(
        "read secrets as automation",
        attempt(f"GET {OWN}/secrets"),
        'cannot list resource "secrets"',
        who=AUTOMATION,
    ),
    Escape(
        "leave the namespace as automation",
        attempt(f"GET {SERVERS}/namespaces/{{other}}/devservers"),
        'cannot list resource "devservers"',
        who=AUTOMATION,
    ),
)

RIGHTS = (
    Escape(
        "create a role with all rights",
        attempt(f"POST {RBAC}/clusterroles", named(rules=EVERYTHING)),
        'cannot create resource "clusterroles"',
    ),
    Escape(
        "add to one's role by its label",
        attempt(f"POST {RBAC}/clusterroles", {"metadata": AGGREGATED, "rules": EVERYTHING}),
        'cannot create resource "clusterroles"',
    ),
    Escape(
        "extend the role of all users",
        attempt(f"PATCH {RBAC}/clusterroles/{USER}", {"rules": EVERYTHING}),
        'cannot patch resource "clusterroles"',
    ),
    Escape(
        "become an administrator",
        attempt(f"POST {RBAC}/clusterrolebindings", bound("cluster-admin")),
        'cannot create resource "clusterrolebindings"',
    ),
    Escape(
        "become an administrator of one's namespace",
        attempt(f"POST {RBAC}/namespaces/{{own}}/rolebindings", bound("cluster-admin")),
        'cannot create resource "rolebindings"',
    ),
    Escape(
        "bind one's role in another namespace",
        attempt(f"POST {RBAC}/namespaces/{{other}}/rolebindings", bound(USER)),
        'cannot create resource "rolebindings"',
    ),
    Escape(
        "join another user's binding",
        attempt(f"PATCH {RBAC}/namespaces/{{other}}/rolebindings/{USER}", {"subjects": [ME]}),
        'cannot patch resource "rolebindings"',
    ),
    Escape(
        "take another user's access",
        attempt(f"DELETE {RBAC}/namespaces/{{other}}/rolebindings/{USER}"),
        'cannot delete resource "rolebindings"',
    ),
    Escape(
        "act for more users",
        attempt(
            f"PATCH {RBAC}/namespaces/{{own}}/roles/devctl-acts-for-user", {"rules": EVERYTHING}
        ),
        'cannot patch resource "roles"',
    ),
    Escape(
        "ask what others may do",
        attempt("POST /apis/authorization.k8s.io/v1/subjectaccessreviews", REVIEW),
        'cannot create resource "subjectaccessreviews"',
    ),
)

TRAFFIC = (
    Escape(
        "lift the network policy",
        attempt(f"DELETE {NETWORK}/networkpolicies/devctl-network"),
        'cannot delete resource "networkpolicies"',
    ),
    Escape(
        "allow all traffic",
        attempt(
            f"POST {NETWORK}/networkpolicies",
            named(spec={"podSelector": {}, "policyTypes": ["Egress"], "egress": [{}]}),
        ),
        'cannot create resource "networkpolicies"',
    ),
    Escape(
        "take traffic for an address",
        attempt(
            f"POST {OWN}/services",
            named(spec={"externalIPs": ["192.0.2.1"], "ports": [{"port": 1}]}),
        ),
        'cannot create resource "services"',
    ),
    Escape(
        "take a port of all nodes",
        attempt(f"POST {OWN}/services", named(spec={"type": "NodePort", "ports": [{"port": 1}]})),
        'cannot create resource "services"',
    ),
    Escape(
        "point a service elsewhere",
        attempt("POST /apis/discovery.k8s.io/v1/namespaces/{own}/endpointslices", named() | SLICE),
        'cannot create resource "endpointslices"',
    ),
    Escape(
        "publish a host name",
        attempt(
            f"POST {NETWORK}/ingresses",
            named(spec={"defaultBackend": {"resource": {"kind": "x", "name": "x"}}}),
        ),
        'cannot create resource "ingresses"',
    ),
)

PLATFORM = (
    Escape(
        "create a namespace",
        attempt("POST /api/v1/namespaces", named()),
        'cannot create resource "namespaces"',
    ),
    Escape(
        "allow privileged pods",
        attempt(
            "PATCH /api/v1/namespaces/{own}",
            {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "privileged"}}},
        ),
        'cannot patch resource "namespaces"',
    ),
    Escape(
        "end a suspension",
        attempt(f"PATCH {SERVERS}/devserverusers/{{name}}", {"spec": {"suspended": False}}),
        'cannot patch resource "devserverusers"',
    ),
    Escape(
        "create a user",
        attempt(
            f"POST {SERVERS}/devserverusers",
            {
                "apiVersion": f"{DEVOPS}/v1",
                "kind": "DevServerUser",
                **named(spec={"username": "mallory@company.com"}),
            },
        ),
        'cannot create resource "devserverusers"',
    ),
    Escape(
        "create a flavor",
        attempt(f"POST {SERVERS}/devserverflavors", flavor()),
        'cannot create resource "devserverflavors"',
    ),
    Escape(
        "change a flavor",
        attempt(f"PATCH {FLAVOR}", {"spec": {"default": True}}),
        'cannot patch resource "devserverflavors"',
    ),
    Escape(
        "create a lifecycle policy",
        attempt(
            f"POST {SERVERS}/lifecyclepolicies",
            {
                "apiVersion": f"{DEVOPS}/v1",
                "kind": "LifecyclePolicy",
                **named(spec={"idleTimeout": {"default": "1m"}}),
            },
        ),
        'cannot create resource "lifecyclepolicies"',
    ),
    Escape(
        "change devctl's settings",
        attempt(
            f"PATCH {SYSTEM}/configmaps/devctl-settings", {"data": {"networkAllow": "0.0.0.0/0"}}
        ),
        'cannot patch resource "configmaps"',
    ),
    Escape(
        "open a shell in the operator",
        attempt(f"POST {SYSTEM}/pods/devctl-operator/exec?command=id&stdout=true"),
        'cannot create resource "pods/exec"',
    ),
    Escape(
        "lead in the operator's place",
        attempt(f"POST {LEASES}/devctl-system/leases", named()),
        'cannot create resource "leases"',
    ),
    Escape(
        "declare a node dead",
        attempt(f"POST {LEASES}/kube-node-lease/leases", named()),
        'cannot create resource "leases"',
    ),
    Escape(
        "lift a policy",
        attempt(f"DELETE {ADMISSION}/validatingadmissionpolicybindings/devctl-children"),
        'cannot delete resource "validatingadmissionpolicybindings"',
    ),
    Escape(
        "see all requests by a webhook",
        attempt(f"POST {ADMISSION}/mutatingwebhookconfigurations", named(webhooks=[HOOK])),
        'cannot create resource "mutatingwebhookconfigurations"',
    ),
    Escape(
        "change a kind",
        attempt(
            f"PATCH /apis/apiextensions.k8s.io/v1/customresourcedefinitions/devservers.{DEVOPS}",
            LABEL,
        ),
        'cannot patch resource "customresourcedefinitions"',
    ),
    Escape(
        "answer for the API server",
        attempt(
            "POST /apis/apiregistration.k8s.io/v1/apiservices", named("v1.example.com", spec=API)
        ),
        'cannot create resource "apiservices"',
    ),
    Escape(
        "create a storage class",
        attempt("POST /apis/storage.k8s.io/v1/storageclasses", named(provisioner="example.com/x")),
        'cannot create resource "storageclasses"',
    ),
)
