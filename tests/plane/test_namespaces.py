"""A namespace that is deleted with live servers and jobs in it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from support.jobs import WAITS, Job
from support.servers import SMALL, TWO_RANKS, DevServer, apply_flavor, wait_until

if TYPE_CHECKING:
    from support.commands import Kubectl
    from support.plane.plane import Plane

    from devctl.local.images import Image

pytestmark = pytest.mark.usefixtures("deployed")


def test_all_of_it_goes_and_others_are_served(
    plane: Plane, kubectl: Kubectl, namespace: str, images: dict[str, Image]
) -> None:
    doomed, image = f"doomed-{uuid4().hex[:6]}", images["base"].reference
    kubectl.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": doomed}})
    flavor = apply_flavor(kubectl, doomed, resources=SMALL)
    spec = {"owner": "alice@company.com", "flavor": flavor, "image": image}
    running, stopped = (DevServer(kubectl, doomed, spec, name) for name in ("running", "stopped"))
    job = Job(kubectl, doomed, image)
    running.apply(**TWO_RANKS)
    stopped.apply(stopped=True)
    job.apply(command=WAITS)
    running.wait("Ready")
    stopped.wait("Applied")
    job.wait("Running")
    volumes = {
        claim["spec"]["volumeName"] for claim in job.get("pvc") if "volumeName" in claim["spec"]
    }
    assert len(volumes) == 3

    kubectl.api.delete("namespace", doomed)
    wait_until(lambda: kubectl.api.get("namespace", doomed) is None, "it goes")

    def left() -> set[str]:
        return volumes & {found["metadata"]["name"] for found in kubectl.api.list("pv")}

    wait_until(lambda: not left(), "its volumes go, as their class has it")
    # Whatever its end has caused, it ends, too.
    other = DevServer(kubectl, namespace, spec)
    other.apply()
    other.wait("Ready")
    wait_until(lambda: plane.operator.runs()["running"] == 0, "no run goes on")
    kubectl.api.delete("devserver", "lab", namespace)
    kubectl.api.delete("devserverflavor", flavor)
