"""Names of a DevServerUser: its object, its namespace, and its children in there."""

from __future__ import annotations

import re
import unicodedata
from hashlib import sha256

from devctl.api.kinds import DEVSERVER
from devctl.api.labels import GROUP
from devctl.api.quantities import GPU

LABEL = f"{GROUP}/devserveruser"
"""Label: the DevServerUser that an object belongs to, by name."""

SUSPENDED = f"{GROUP}/suspended"
"""Label of a namespace: `true` while its user is suspended. Admission refuses by it."""

DEFAULT_FLAVOR = f"{GROUP}/default-flavor"
"""Annotation of a namespace: the flavor of servers that name none. Admission fills it in."""

USER_NAME = f"{GROUP}/user-name"
"""Annotation of a namespace: spec.username, as the API server knows the user."""

NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,57}[a-z0-9])?", re.ASCII)
NAME_RULE = "have at most 59 lower-case letters, digits and '-', and start and end without '-'"
"""The CRD's rule for names: `dev-` and the name are a namespace."""

QUOTA, LIMITS, NETWORK = "devctl-quota", "devctl-limits", "devctl-network"
NO_SYSTEM_PRIORITY = "devctl-no-system-priority"
AUTOMATION = "devctl-automation"
"""ServiceAccount: for the user's scripts and CI."""
ACCESS = ("devctl-user", "devctl-job-user")
"""RoleBindings of user and AUTOMATION, named after their ClusterRoles."""
ACTS_FOR = "devctl-acts-for-user"
"""Role and RoleBinding: AUTOMATION creates servers and jobs in the user's name."""

OBJECTS = "devctl-objects"
"""ResourceQuota: how many objects users may create themselves that take room in etcd."""

COUNTED = {
    "gpus": f"requests.{GPU}",
    "cpu": "requests.cpu",
    "memory": "requests.memory",
    "storage": "requests.storage",
    "servers": f"count/{DEVSERVER.plural}.{DEVSERVER.group}",
}
"""The fields of spec.quota, and their names in a ResourceQuota (Kubernetes' "Resource Quotas")."""

_SLUG = re.compile(r"[^a-z0-9]+")
_LOOKS_HASHED = re.compile(r"-[0-9a-f]{8}\Z")


def object_name(username: str) -> str:
    """The name of the DevServerUser for a name as the API server knows it; injective.

    A user name that may be an object's name is one. Others get a readable part and a hash, as do
    those that look as if they had one.

    >>> object_name("alice"), object_name("alice@company.com")
    ('alice', 'alice-22c9943b')
    """
    if NAME.fullmatch(username) and not _LOOKS_HASHED.search(username):
        return username
    plain = unicodedata.normalize("NFKD", username.partition("@")[0]).casefold()
    slug = _SLUG.sub("-", plain).strip("-")[:40].rstrip("-") or "user"
    return f"{slug}-{sha256(username.encode()).hexdigest()[:8]}"


def namespace_of(name: str, namespace: str | None = None) -> str:
    """The namespace of a user, by the object's name and its spec.namespace.

    >>> namespace_of("alice"), namespace_of("alice", "research")
    ('dev-alice', 'research')
    """
    return namespace or f"dev-{name}"


def shared_claim_name(name: str) -> str:
    """The claim that all servers of a user may mount, by the object's name.

    >>> shared_claim_name("alice")
    'alice-shared-efs'
    """
    return f"{name}-shared-efs"
