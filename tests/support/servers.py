"""One DevServer in a namespace of the test's own, and what people look at in it."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.commands import Kubectl

Thing = dict[str, Any]
TWO_RANKS = {"mode": "distributed", "distributed": {"worldSize": 2, "backend": "gloo"}}
SHARED = "devops.yourcompany.com/shared"
CHILDREN = "statefulset,service,configmap,secret,persistentvolumeclaim,pod"
SMALL = {"requests": {"cpu": "20m", "memory": "32Mi"}, "limits": {"memory": "256Mi"}}
KEEP = "echo kept > /home/dev/file"


def apply_flavor(kubectl: Kubectl, name: str, **spec: Any) -> str:
    """Make a flavor, or change it; its name."""
    manifest = {
        "apiVersion": "devops.yourcompany.com/v1",
        "kind": "DevServerFlavor",
        "metadata": {"name": name},
        "spec": spec,
    }
    kubectl.api.apply(manifest)
    return name


def succeeds(ask: Callable[[], object]) -> bool:
    """Whether kubectl takes something now; elsewhere its refusal fails the test."""
    try:
        ask()
    except pytest.fail.Exception:
        return False
    return True


def wait_until(
    true: Callable[[], bool], what: str | Callable[[], str], seconds: float = 180
) -> None:
    """Look until it is so: often at first, and then at ease, as others need the processor too.

    Args:
        true: Whether it is so by now.
        what: What is waited for; a function is called when it has not come true.
        seconds: For how long.
    """
    started = time.monotonic()
    while not true():
        waited = time.monotonic() - started
        if waited > seconds:
            pytest.fail(f"not within {seconds:.0f} s: {what if isinstance(what, str) else what()}")
        time.sleep(0.1 if waited < 2 else 0.3)


@dataclass
class DevServer:
    """A server as its owner sees it: applied, looked at, and used."""

    kubectl: Kubectl
    namespace: str
    spec: Thing
    name: str = "lab"
    wanted: Thing = field(default_factory=dict)

    def manifest(self, **changes: Any) -> Thing:
        """Its manifest with the fields that changed; None takes one out."""
        self.wanted |= changes
        spec = {
            name: value for name, value in (self.spec | self.wanted).items() if value is not None
        }
        return {
            "apiVersion": "devops.yourcompany.com/v1",
            "kind": "DevServer",
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": spec,
        }

    def apply(self, **changes: Any) -> None:
        """Apply its manifest with the fields that changed."""
        self.kubectl.api.apply(self.manifest(**changes))

    def get(self, kinds: str, name: str = "", *, labels: str = "") -> list[Thing]:
        """Objects of the namespace: the one of a name, or all of some kinds."""
        if name:
            found = self.kubectl.api.get(kinds, name, self.namespace)
            return [] if found is None else [found]
        return self.kubectl.api.list(kinds, self.namespace, labels=labels)

    @property
    def status(self) -> Thing:
        """Its status."""
        found: Thing = self.get("devserver", self.name)[0].get("status", {})
        return found

    def condition(self, kind: str) -> Thing:
        """A condition of its status; empty where there is none."""
        return condition_of(self.status, kind)

    def is_current(self, kind: str, status: str) -> bool:
        """Whether a condition has that status for the spec as it is now."""
        return is_current(self.get("devserver", self.name)[0], kind, status)

    def wait(self, kind: str, status: str = "True", seconds: float = 120) -> Thing:
        """Wait until a condition has a status for the present spec; the condition then."""
        found: Thing = {}

        def so(server: Thing) -> bool:
            nonlocal found
            found = server
            return is_current(server, kind, status)

        self.follow(so, f"{kind}={status}", seconds)
        return condition_of(found["status"], kind)

    def follow(self, true: Callable[[Thing], bool], what: str, seconds: float = 120) -> None:
        """Watch it until something is true of it."""
        where = (self.name, self.namespace)
        if not self.kubectl.api.follow("devserver", *where, true, seconds):
            pytest.fail(f"not within {seconds:.0f} s: {what} of {where}: {self.status}")

    def settle(self) -> None:
        """Wait until Kubernetes has written down how it stands with the StatefulSet's pods."""

        def settled() -> bool:
            found = self.get("statefulset", self.name)[0]
            wanted, status = found["spec"]["replicas"], found.get("status", {})
            counts = [status.get(name, 0) for name in ("replicas", "readyReplicas")]
            seen = status.get("observedGeneration") == found["metadata"]["generation"]
            return seen and counts == [wanted, wanted]

        wait_until(settled, f"the StatefulSet of {self.namespace}/{self.name} is settled")

    def stop(self) -> None:
        """Stop it and wait for the last pod to go."""
        self.apply(stopped=True)
        self.follow(lambda found: found.get("status", {}).get("phase") == "Stopped", "stopped")

    def start(self, **changes: Any) -> None:
        """Start it, with changes, and wait until it is ready."""
        self.apply(stopped=False, **changes)
        self.wait("Ready")

    def delete(self) -> None:
        """Delete it and wait for the last of its pods to go."""
        self.kubectl.api.delete("devserver", self.name, self.namespace)
        wait_until(lambda: not self.get("devserver", self.name), "it is gone")
        wait_until(lambda: not self.get("statefulset,pod"), "its pods are gone")

    def kill(self, rank: int) -> str:
        """Take a pod away at once, as a node that is gone does; its UID."""
        name = f"{self.name}-{rank}"
        uid = self.uids("pod")[f"Pod/{name}"]
        where = ("-n", self.namespace, "--grace-period=0", "--force")
        self.kubectl("delete", "pod", name, *where)
        return uid

    def wait_for_successor(self, rank: int, uid: str) -> None:
        """Wait until another pod than a killed one is ready; the status may be of the old one."""

        def succeeded(pod: Thing) -> bool:
            return pod["metadata"]["uid"] != uid and any(
                (c["type"], c["status"]) == ("Ready", "True")
                for c in pod["status"].get("conditions", [])
            )

        name = f"{self.name}-{rank}"
        assert self.kubectl.api.follow("pod", name, self.namespace, succeeded, 120), name
        self.wait("Ready")

    def run(self, script: str, rank: int = 0) -> str:
        """What a script prints inside one of its pods."""
        pod = f"{self.name}-{rank}"
        return self.kubectl("-n", self.namespace, "exec", pod, "--", "sh", "-c", script).strip()

    def uids(self, kinds: str = CHILDREN) -> dict[str, str]:
        """Its objects, `Kind/name`, and their UIDs; none of what all servers share."""
        return {
            f"{thing['kind']}/{thing['metadata']['name']}": thing["metadata"]["uid"]
            for thing in self.get(kinds)
            if thing["metadata"]["name"] != "kube-root-ca.crt"
            and SHARED not in thing["metadata"].get("annotations", {})
        }

    def versions(self, kinds: str = CHILDREN) -> dict[str, str]:
        """Its objects and their resource versions."""
        return {
            f"{thing['kind']}/{thing['metadata']['name']}": thing["metadata"]["resourceVersion"]
            for thing in self.get(kinds)
        }


def condition_of(status: Thing, kind: str) -> Thing:
    """A condition of a status; empty where there is none."""
    return next((c for c in status.get("conditions", []) if c["type"] == kind), {})


def is_current(server: Thing, kind: str, status: str) -> bool:
    """Whether a server's condition has that status for its spec as it is now."""
    return any(
        (c["type"], c["status"]) == (kind, status)
        and c["observedGeneration"] == server["metadata"]["generation"]
        for c in server.get("status", {}).get("conditions", [])
    )


@contextmanager
def small_server(kubectl: Kubectl, namespace: str, image: str, **spec: Any) -> Iterator[DevServer]:
    """A small server with a flavor of its own, named like its namespace; the test applies it.

    Every server of the namespace is deleted in the end.
    """
    common = {
        "owner": "alice@company.com",
        "flavor": apply_flavor(kubectl, namespace, resources=SMALL),
        "image": image,
        "persistentHomeSize": "10Mi",
    }
    yield DevServer(kubectl, namespace, common | spec)
    # Before its namespace and its flavor, so that the operator has nothing to retry.
    kubectl("-n", namespace, "delete", "devserver", "--all")
    kubectl("delete", "devserverflavor", namespace, "--ignore-not-found")


def content(server: DevServer, selector: str = "") -> Thing:
    """What the role is answerable for in each object, with nothing that differs from run to run.

    Args:
        server: In whose namespace the objects are.
        selector: The labels of those to look at; all of them where it is empty.
    """
    kinds = CHILDREN.removesuffix(",pod")
    found = {}
    for thing in server.get(kinds, labels=selector):
        metadata = thing["metadata"]
        if metadata["name"] == "kube-root-ca.crt" or SHARED in metadata.get("annotations", {}):
            continue
        owners = [owner["name"] for owner in metadata.get("ownerReferences", [])]
        found[f"{thing['kind']}/{metadata['name']}"] = [
            metadata["labels"],
            metadata.get("annotations"),
            owners,
            thing.get("spec"),
            thing.get("data"),
        ]
    text = json.dumps(found).replace(server.namespace, "NAMESPACE")
    return json.loads(text)  # type: ignore[no-any-return]
