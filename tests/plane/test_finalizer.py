"""Objects in other namespaces go before their owner does, whatever goes wrong on the way."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from support.fault_proxy import FaultProxy, fault_proxy
from support.plane import errands
from support.servers import wait_until

from devctl.api.labels import GROUP

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.api import Api
    from support.commands import Kubectl
    from support.plane.parts import OperatorProcess
    from support.plane.plane import Plane

pytestmark = pytest.mark.usefixtures("operator_away")

Thing = dict[str, Any]


@dataclass
class Errand:
    """One of either kind, with a note in each of two namespaces that are not its own."""

    api: Api
    kind: str
    places: list[str]
    home: str
    name: str

    def apply(self, *places: str) -> None:
        metadata = {"name": self.name}
        if self.kind == "Chore":
            metadata["namespace"] = self.home
        spec = {"places": list(places or self.places)}
        version = f"{GROUP}/v1"
        made = {"apiVersion": version, "kind": self.kind, "metadata": metadata, "spec": spec}
        self.api.apply(made)

    def read(self) -> Thing | None:
        return self.api.get(self.kind.lower(), self.name, self.home)

    def delete(self) -> None:
        self.api.delete(self.kind.lower(), self.name, self.home)

    def notes(self) -> list[str]:
        """The namespaces in which it has one."""
        found = self.api.list("configmap", labels=f"{errands.LABEL}={self.name}")
        return sorted(thing["metadata"]["namespace"] for thing in found)

    def wait(self, *places: str) -> None:
        wanted = sorted(places or self.places)
        wait_until(lambda: self.notes() == wanted, lambda: f"{wanted}: {self.notes()}")

    def wait_gone(self) -> None:
        wait_until(lambda: self.read() is None, lambda: f"it goes: {self.read()}")
        assert self.notes() == []


@dataclass(frozen=True)
class Stage:
    """Where it plays."""

    kubectl: Kubectl
    proxy: FaultProxy
    operator: OperatorProcess


@pytest.fixture(scope="module")
def stage(
    plane: Plane, kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    """An operator that answers Errands and Chores, and whose requests go through a proxy."""
    folder = tmp_path_factory.mktemp("errands")
    crds = [errands.definition(kind) for kind in errands.KINDS]
    for thing in (*crds, *errands.rights()):
        kubectl.api.apply(thing)
    for crd in crds:
        kubectl("wait", "--for=condition=Established", f"crd/{crd['metadata']['name']}")
    with fault_proxy(plane.account("devctl-operator"), folder) as proxy:
        operator = plane.operator_with(
            proxy.kubeconfig, "operator-of-errands", checkout=errands.checkout(folder / "checkout")
        )
        operator.start()
        yield Stage(kubectl, proxy, operator)
        operator.kill()
    for thing in (*crds, *errands.rights()):
        kubectl.api.delete(thing["kind"].lower(), thing["metadata"]["name"])


@pytest.fixture(params=errands.KINDS)
def errand(stage: Stage, request: pytest.FixtureRequest) -> Iterator[Errand]:
    stage.proxy.calm_down()
    number = uuid4().hex[:6]
    home, *places = (f"{place}-{number}" for place in ("home", "here", "there"))
    for place in (home, *places):
        stage.kubectl("create", "namespace", place)
    made = Errand(stage.kubectl.api, request.param, places, home, f"e-{number}")
    made.apply()
    made.wait()
    yield made
    made.delete()
    wait_until(lambda: made.read() is None, "it goes")
    for place in (home, *places):
        stage.kubectl("delete", "namespace", place, "--wait=false")


def test_what_it_has_elsewhere_goes_with_it_and_nothing_else(errand: Errand) -> None:
    neighbour = Errand(errand.api, errand.kind, errand.places, errand.home, f"{errand.name}-b")
    neighbour.apply()
    neighbour.wait()
    errand.apply(errand.places[0])
    errand.wait(errand.places[0])
    errand.delete()
    errand.wait_gone()
    assert neighbour.notes() == sorted(neighbour.places)
    neighbour.delete()
    neighbour.wait_gone()


def test_a_kill_after_every_deletion_is_made_up_for(stage: Stage, errand: Errand) -> None:
    for last in (1, 2):
        errand.apply()
        errand.wait()
        stage.proxy.calm_down()
        struck = Event()

        def look(request: str, last: int = last, struck: Event = struck) -> None:
            deleted = [one for one in stage.proxy.writes if one.startswith("DELETE")]
            if request.startswith("DELETE") and len(deleted) == last:
                stage.operator.kill_runs()
                struck.set()

        stage.proxy.after_write = look
        errand.delete()
        wait_until(struck.is_set, f"deletion {last} is made")
        errand.wait_gone()


def test_it_waits_for_what_takes_its_time_and_says_so(errand: Errand) -> None:
    held, place = {"metadata": {"finalizers": ["devops.yourcompany.com/held"]}}, errand.places[0]
    errand.api.patch("configmap", errand.name, held, place)
    errand.delete()

    def said() -> str:
        found = (errand.read() or {}).get("status", {}).get("conditions", [{}])
        return f"{found[0].get('reason')}: {found[0].get('message')}"

    wait_until(lambda: f"Terminating: {errand.kind}" in said(), said)
    assert f"ConfigMap {place}/{errand.name}" in said()
    errand.api.patch("configmap", errand.name, {"metadata": {"finalizers": None}}, place)
    errand.wait_gone()


def test_a_namespace_that_goes_at_the_same_time_is_no_obstacle(
    stage: Stage, errand: Errand
) -> None:
    stage.kubectl("delete", "namespace", errand.places[0], "--wait=false")
    errand.delete()
    errand.wait_gone()
