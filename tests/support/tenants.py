"""Users of a cluster, and manifests that they try."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from support import asked
from support.api import checked, objection

from devctl.api import ephemeral_acceleration_job
from devctl.api.kinds import GPU_WORKLOAD, VLLM_RUN
from devctl.api.labels import GROUP, MANAGED_BY, MANAGER, VERSION

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.api import Api
    from support.asked import Request
    from support.commands import Kubectl

Manifest = dict[str, Any]
ALICE, BOB = "alice@company.com", "bob@company.com"
ADMINISTRATOR = ""
OPERATOR = "system:serviceaccount:devctl-system:devctl-operator"
OBSERVER = "system:serviceaccount:devctl-system:devctl-observer"
RESERVED = f"{GROUP}/note"
PRIMARY = "operator-sdk/primary-resource"
# What a user may write in a namespace of theirs, and more than most will get: by API group.
RESOURCES = {
    "": "pods pods/status persistentvolumeclaims services configmaps secrets",
    "apps": "statefulsets statefulsets/scale deployments controllerrevisions",
    "batch": "jobs cronjobs",
    "resource.k8s.io": "resourceclaims",
    GROUP: "devservers",
    ephemeral_acceleration_job.GROUP: ephemeral_acceleration_job.PLURAL,
    GPU_WORKLOAD.group: GPU_WORKLOAD.plural,
    VLLM_RUN.group: VLLM_RUN.plural,
}
VERBS = "get list watch create update patch delete deletecollection"
RBAC = "rbac.authorization.k8s.io"
CONTAINER = {"name": "main", "image": "none:1"}
DEVICE = {"name": "gpu", "exactly": {"deviceClassName": "any"}}
TEMPLATE = {"containers": [CONTAINER], "restartPolicy": "Never"}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}


def who(user: str) -> tuple[str, ...]:
    """The options that make kubectl act as a user; none for the administrator."""
    return (f"--as={user}", "--as-group=system:authenticated") if user else ()


def allowed(  # noqa: PLR0913 - what a right is about
    kubectl: Kubectl,
    account: str,
    verb: str,
    what: str,
    *,
    sub: str = "",
    namespace: str = "default",
) -> bool:
    """Whether an account may do something to a kind, or to one object, `kind/name`."""
    return kubectl.api.acting(account).may(verb, what, namespace, sub=sub)


def refusal(kubectl: Kubectl, account: str, request: Request, *groups: str) -> str:
    """Why an account may not do something; empty if it may. Nothing comes of what is `dry`."""
    return objection(kubectl.api.acting(account, *groups).send(request, "default"))


def role(name: str, verbs: str, resources: dict[str, str], *names: str) -> Manifest:
    """A role that gives verbs on resources by their API groups; on some names only, if given."""
    rules = [
        {"apiGroups": [group], "resources": found.split(), "verbs": verbs.split()}
        | ({"resourceNames": [*names]} if names else {})
        for group, found in resources.items()
    ]
    about = {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": {"name": name}}
    return {**about, "rules": rules}


def user_kubeconfig(kubectl: Kubectl, administrator: Path, user: str, home: Path) -> Path:
    """A kubeconfig with which every program acts as a user, below their home."""
    options = (f"--kubeconfig={administrator}", "--flatten", "--minify", "-o", "json")
    config = json.loads(kubectl("config", "view", *options))
    config["users"][0]["user"] |= {"as": user, "as-groups": ["system:authenticated"]}
    file = home / "kubeconfig"
    file.write_text(json.dumps(config))
    return file


class Tenants:
    """Sends requests of several users to a namespace in which all of them may write."""

    def __init__(self, kubectl: Kubectl, namespace: str) -> None:
        self.kubectl, self.namespace = kubectl, namespace

    def run(self, user: str, *args: str, manifest: Manifest | None = None) -> str:
        """What kubectl prints: for what users see of it, or what takes several requests."""
        text = None if manifest is None else json.dumps(manifest)
        return self.kubectl(*args, "-n", self.namespace, *who(user), input=text)

    def refusal(self, user: str, *args: str, manifest: Manifest | None = None) -> str:
        """What kubectl shows of a refusal."""
        with pytest.raises(pytest.fail.Exception) as failure:
            self.run(user, *args, manifest=manifest)
        return str(failure.value)

    def api(self, user: str) -> Api:
        """The API server as a user."""
        return self.kubectl.api.acting(user)

    def send(self, user: str, request: Request) -> Manifest:
        """What the API server answers to a request that it must not refuse."""
        return checked(self.api(user).send(request, self.namespace))

    def denied(self, user: str, request: Request) -> str:
        """What the API server says against a request that it must refuse."""
        said = objection(self.api(user).send(request, self.namespace))
        assert said, f"{user} may do this: {request}"
        return said

    def create(self, user: str, manifest: Manifest, *, keep: bool = False) -> Manifest:
        return self.send(user, asked.create(manifest, dry=not keep))

    def refused(self, user: str, manifest: Manifest) -> str:
        return self.denied(user, asked.create(manifest, dry=True))

    def replacement(self, manifest: Manifest, *, dry: bool = False) -> Request:
        """The request that replaces an object as it is now."""
        kind, name = asked.kind_of(manifest), manifest["metadata"]["name"]
        now = self.read(f"{kind}/{name}")["metadata"]["resourceVersion"]
        return asked.replace(manifest, now, dry=dry)

    def replace(self, user: str, manifest: Manifest) -> None:
        """Replace an object, whose status may be written at the same time."""
        while True:
            answer = self.api(user).send(self.replacement(manifest), self.namespace)
            if "(Conflict)" not in objection(answer):
                checked(answer)
                return

    def read(self, resource: str) -> Manifest:
        return self.send(ADMINISTRATOR, asked.get(resource))

    def names(self, kind: str, labels: str = "") -> list[str]:
        """The names of the objects of a kind, or of several with commas between them."""
        found = self.kubectl.api.list(kind, self.namespace, labels=labels)
        return [each["metadata"]["name"] for each in found]

    def bind(self, *users: str, to: str, kind: str = "Role", awaits: tuple[str, str]) -> None:
        """Bind users to a role, and wait until the API server lets the last one use it.

        Args:
            users: Who.
            to: The role.
            kind: Its kind.
            awaits: A verb and a kind that only this role gives them.
        """
        subjects = [{"kind": "User", "name": user, "apiGroup": RBAC} for user in users]
        about = {"apiVersion": f"{RBAC}/v1", "kind": "RoleBinding", "metadata": {"name": to}}
        reference = {"apiGroup": RBAC, "kind": kind, "name": to}
        made = {**about, "roleRef": reference, "subjects": subjects}
        self.create(ADMINISTRATOR, made, keep=True)
        verb, what = awaits
        until(lambda: self.api(users[-1]).may(verb, what, self.namespace))


def server(metadata_name: str = "box", /, **changes: Any) -> Manifest:
    """A stopped DevServer of Alice's; labels, annotations and fields of its spec may differ."""
    metadata = {key: changes.pop(key) for key in ("labels", "annotations") if key in changes}
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "DevServer",
        "metadata": {"name": metadata_name, **metadata},
        "spec": {
            "owner": ALICE,
            "image": "none:1",
            "persistentHomeSize": "1Gi",
            "stopped": True,
            **changes,
        },
    }


def job(metadata_name: str = "box", /, **changes: Any) -> Manifest:
    """A suspended job; labels, annotations and fields of its spec may differ."""
    metadata = {key: changes.pop(key) for key in ("labels", "annotations") if key in changes}
    return {
        "apiVersion": f"{ephemeral_acceleration_job.GROUP}/{ephemeral_acceleration_job.VERSION}",
        "kind": ephemeral_acceleration_job.KIND,
        "metadata": {"name": metadata_name, **metadata},
        "spec": {"image": "none:1", "suspend": True, **changes},
    }


def flavor(**spec: Any) -> Manifest:
    resources = {"requests": {"cpu": "100m", "memory": "64Mi"}}
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "DevServerFlavor",
        "metadata": {"name": "admission"},
        "spec": {"resources": resources, **spec},
    }


def child(kind: str, name: str = "child", **metadata: Any) -> Manifest:
    """An object such as the role makes, with the metadata given."""
    specs: dict[str, tuple[str, Manifest]] = {
        "Pod": ("v1", {"spec": {"containers": [CONTAINER]}}),
        "PersistentVolumeClaim": ("v1", {"spec": CLAIM}),
        "Service": ("v1", {"spec": {"clusterIP": "None"}}),
        "ConfigMap": ("v1", {}),
        "Secret": ("v1", {}),
        "StatefulSet": ("apps/v1", {"spec": workload({})}),
        "Job": ("batch/v1", {"spec": {"template": {"spec": TEMPLATE}}}),
        "ResourceClaim": ("resource.k8s.io/v1", {"spec": {"devices": {"requests": [DEVICE]}}}),
    }
    version, rest = specs[kind]
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **metadata}, **rest}


def managed(manifest: Manifest) -> Manifest:
    """An object as a role stamps it, without which devctl's own accounts write nothing."""
    metadata = manifest["metadata"]
    labels = metadata.get("labels", {}) | {MANAGED_BY: MANAGER}
    return manifest | {"metadata": metadata | {"labels": labels}}


CHILDREN = (
    *("Pod", "PersistentVolumeClaim", "Service", "ConfigMap", "Secret"),
    *("StatefulSet", "Job"),
)


def workload(template: Manifest, claim: Manifest | None = None) -> Manifest:
    """The spec of a StatefulSet; metadata for its pods and for their claims."""
    labels = {"app": "box", **template.get("labels", {})}
    spec: Manifest = {
        "replicas": 1,
        "serviceName": "box",
        "selector": {"matchLabels": {"app": "box"}},
        "template": {
            "metadata": {**template, "labels": labels},
            "spec": {"containers": [CONTAINER]},
        },
    }
    if claim is not None:
        spec["volumeClaimTemplates"] = [{"metadata": {"name": "home", **claim}, "spec": CLAIM}]
    return spec


def until(done: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.1)
