"""Whatever goes wrong on the way, a role ends in the same objects.

All of it is there: the operator, its own proxy, the warm runner, and before the API server a proxy
that fails. Each object has a name of its own, and is compared with one that met with nothing.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from support.fault_proxy import Fault, FaultProxy, fault_proxy
from support.jobs import SMALL as SMALL_JOB
from support.jobs import WAITS
from support.runs import OF_THE_CHECKOUT, Operator
from support.servers import SMALL, TWO_RANKS, apply_flavor, wait_until
from support.tenants import job, server

from devctl.api import ephemeral_acceleration_job as eaj
from devctl.api.labels import DEVSERVER, WAKE
from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.commands import Kubectl
    from support.plane.parts import OperatorProcess
    from support.plane.plane import Plane

pytestmark = pytest.mark.usefixtures("operator_away")

Thing = dict[str, Any]
CHILDREN = "statefulset,service,configmap,secret,persistentvolumeclaim,pod"
# How long a write may take is a setting of nobody's: ten seconds of silence would prove no more.
# On a busy machine, a write that nothing disturbs takes more than one.
IMPATIENT = "import apply.server.client\n\napply.server.client._TIMEOUT = (3, 4)\n"

COMMITTED = {Fault.UNANSWERED, Fault.RESET, Fault.TOO_LATE}
"""Faults of writes that were made all the same: not every one has to be tried again."""


@dataclass(frozen=True)
class Kind:
    """One of the kinds that have a role.

    Attributes:
        name: As kubectl knows it.
        role: The role's name.
        label: What its objects carry.
        wake: The annotation that runs it again.
        writes: How many a first run makes.
        spec: Of an object of which everything is the role's own; no pod of it ever starts.
    """

    name: str
    role: str
    label: str
    wake: str
    writes: int
    spec: Thing


KINDS = (
    # Two homes, service, StatefulSet, condition; the scripts are shared, and not named after it.
    Kind("devserver", "devserver", DEVSERVER, WAKE, 5, {"stopped": True, **TWO_RANKS}),
    # Claim, pod, condition. No node has so many GPUs.
    Kind(
        *("eaj", "ephemeral_acceleration_job", eaj.JOB, eaj.WAKE, 3),
        {"suspend": False, "command": WAITS, "resources": SMALL_JOB | {"gpu": 64}},
    ),
)


class Subject:
    """An object of a kind, by what its role makes of it."""

    def __init__(self, kubectl: Kubectl, namespace: str, kind: Kind) -> None:
        self.kubectl, self.namespace, self.kind = kubectl, namespace, kind
        self.name = f"a{uuid4().hex[:6]}"

    def manifest(self, **changes: Any) -> Thing:
        spec = {**self.kind.spec, **changes}
        if self.kind.name == "devserver":
            made = server(self.name, flavor=self.namespace, **spec)
        else:
            made = job(self.name, **spec)
        made["metadata"]["namespace"] = self.namespace
        return made

    def apply(self, **changes: Any) -> None:
        self.kubectl.api.apply(self.manifest(**changes))

    def read(self) -> Thing:
        found = self.kubectl.api.get(self.kind.name, self.name, self.namespace)
        assert found
        return found

    def await_applied(self) -> None:
        """Wait until the role has answered the present spec."""
        generation = self.read()["metadata"]["generation"]

        def so(found: Thing) -> bool:
            said = {c["type"]: c for c in found.get("status", {}).get("conditions", [])}
            applied = said.get("Applied", {})
            told = (applied.get("status"), applied.get("observedGeneration"))
            return told == ("True", generation)

        where = (self.kind.name, self.name, self.namespace)
        assert self.kubectl.api.follow(*where, so, 60), self.read()["status"]

    def children(self) -> list[Thing]:
        labels = f"{self.kind.label}={self.name}"
        return self.kubectl.api.list(CHILDREN, self.namespace, labels=labels)

    def versions(self) -> set[str]:
        return {thing["metadata"]["resourceVersion"] for thing in self.children()}

    def content(self) -> Any:
        """What the role is answerable for, with nothing that differs from object to object."""
        own, found = self.read()["metadata"]["uid"], {}
        for thing in self.children():
            metadata = thing["metadata"]
            owners = [owner["uid"] for owner in metadata.get("ownerReferences", [])]
            told = [metadata["labels"], metadata.get("annotations"), owners, thing.get("spec")]
            found[f"{thing['kind']}/{metadata['name']}"] = [*told, thing.get("data")]
        return json.loads(json.dumps(found).replace(own, "UID").replace(self.name, "NAME"))


@dataclass(frozen=True)
class Stage:
    """Where it plays."""

    kubectl: Kubectl
    namespace: str
    proxy: FaultProxy
    operator: OperatorProcess

    def subject(self, kind: Kind) -> Subject:
        return Subject(self.kubectl, self.namespace, kind)

    def calm(self, kind: Kind) -> Any:
        """What becomes of an object that meets with nothing."""
        self.proxy.calm_down()
        made = self.subject(kind)
        made.apply()
        made.await_applied()
        # The last one is seen before the proxy has its answer.
        wait_until(lambda: len(self.writes(made)) >= kind.writes, "it has written")
        assert len(self.writes(made)) == kind.writes, self.writes(made)
        return made.content()

    def writes(self, made: Subject) -> list[str]:
        """The writes that were about an object."""
        return [request for request in self.proxy.writes if made.name in request]

    def strike_after(self, last: int, made: Subject, strike: Callable[[], None]) -> Event:
        """Do something after so many writes of an object; what is set then."""
        struck = Event()

        def look(request: str) -> None:
            if made.name in request and len(self.writes(made)) == last:
                strike()
                struck.set()

        self.proxy.after_write = look
        return struck

    def ran(self, kind: Kind) -> float:
        """How many of a role's runs have succeeded."""
        return self.operator.runs().get(f'runs_total{{result="ok",role="{kind.role}"}}', 0)

    def writes_nothing(self, made: Subject) -> bool:
        """Whether a further run finds nothing to do."""
        self.proxy.calm_down()
        before, versions = self.ran(made.kind), made.versions()
        wake = {"metadata": {"annotations": {made.kind.wake: "now"}}}
        self.kubectl.api.patch(made.kind.name, made.name, wake, made.namespace)
        wait_until(lambda: self.ran(made.kind) > before, "it runs again")
        return made.versions() == versions


@pytest.fixture(scope="module")
def stage(
    plane: Plane, kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    """An operator all of whose requests go through a proxy."""
    folder = tmp_path_factory.mktemp("proxy")
    (folder / "sitecustomize.py").write_text(IMPATIENT)
    namespace = f"convergence-{uuid4().hex[:6]}"
    kubectl("create", "namespace", namespace)
    apply_flavor(kubectl, namespace, resources=SMALL)
    with fault_proxy(plane.account("devctl-operator"), folder) as proxy:
        operator = plane.operator_with(proxy.kubeconfig, "operator-through-proxy", folder)
        operator.start()
        yield Stage(kubectl, namespace, proxy, operator)
        kubectl("-n", namespace, "delete", "devserver,eaj", "--all")
        operator.kill()
    kubectl("delete", "namespace", namespace, "--wait=false")
    kubectl("delete", "devserverflavor", namespace)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_run_that_is_killed_after_any_write_is_made_up_for(stage: Stage, kind: Kind) -> None:
    expected = stage.calm(kind)
    for last in range(1, kind.writes + 1):
        stage.proxy.calm_down()
        made = stage.subject(kind)
        struck = stage.strike_after(last, made, stage.operator.kill_runs)
        made.apply()
        wait_until(struck.is_set, f"write {last} is made")
        made.await_applied()
        assert made.content() == expected, f"killed after write {last}"
        assert stage.writes_nothing(made)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_an_operator_that_is_killed_between_writes_is_made_up_for(stage: Stage, kind: Kind) -> None:
    """And its runner with it, as when their container dies: all that they knew is gone."""
    expected = stage.calm(kind)
    stage.proxy.calm_down()
    made = stage.subject(kind)
    struck = stage.strike_after(2, made, stage.operator.kill)
    made.apply()
    wait_until(struck.is_set, "it is killed")
    stage.operator.start()
    made.await_applied()
    assert made.content() == expected
    assert stage.writes_nothing(made)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_deletion_after_any_write_leaves_nothing_but_claims(stage: Stage, kind: Kind) -> None:
    for last in range(1, kind.writes + 1):
        stage.proxy.calm_down()
        made = stage.subject(kind)
        where = (kind.name, made.name, made.namespace)
        struck = stage.strike_after(last, made, lambda at=where: stage.kubectl.api.delete(*at))  # type: ignore[misc]
        made.apply()
        wait_until(struck.is_set, f"write {last} is made")
        wait_until(
            lambda made=made: {t["kind"] for t in made.children()} <= {"PersistentVolumeClaim"},  # type: ignore[misc]
            f"nothing but claims is left after write {last}",
        )


@pytest.mark.parametrize("fault", Fault)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_fault_in_every_write_changes_nothing_in_the_end(
    stage: Stage, kind: Kind, fault: Fault
) -> None:
    expected = stage.calm(kind)
    made = stage.subject(kind)
    stage.proxy.calm_down()
    stage.proxy.fault = fault
    made.apply()
    made.await_applied()
    struck = [request for request in stage.proxy.attempts if made.name in request]
    assert len(struck) == kind.writes
    if fault not in COMMITTED:
        assert all(stage.proxy.attempts[request] > 1 for request in struck)
    assert made.content() == expected
    assert stage.writes_nothing(made)


def test_changes_and_back_end_where_a_fresh_server_does(stage: Stage) -> None:
    kind = KINDS[0]
    expected = stage.calm(kind)
    changes: list[Thing] = [
        {"mode": "standalone"},
        {"distributed": {"worldSize": 8, "nprocsPerNode": 4}},
        {"enableSSH": False},
        {"sharedVolumeClaimName": "data"},
        {"image": "localhost/other:1"},
    ]
    made = stage.subject(kind)
    made.apply()
    made.await_applied()
    for change in changes:
        for changed in (change, {}):
            stage.proxy.calm_down()
            made.apply(**changed)
            made.await_applied()
            written = [request for request in stage.proxy.writes if made.name in request]
            assert any(not request.endswith("/status") for request in written), change
        after = made.content()
        # Homes are never taken away.
        assert {name: after[name] for name in expected} == expected, change


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_two_runs_at_once_double_nothing(
    stage: Stage, kind: Kind, python: Path, kubeconfig: Path, tmp_path: Path
) -> None:
    """As when a leader that was away comes back: two runners, and no operator between them."""
    expected = stage.calm(kind)
    role = REPOSITORY / "roles" / kind.role
    runner = Operator(tmp_path, python, OF_THE_CHECKOUT)
    (tmp_path / "kubeconfig-1").write_bytes(kubeconfig.read_bytes())
    runner.start(role)
    stage.operator.kill()
    try:
        for _ in range(3):
            made = stage.subject(kind)
            made.apply()
            found = made.read()
            group = found["apiVersion"].partition("/")[0].replace(".", "_")
            variables = {
                "ansible_operator_meta": {"name": made.name, "namespace": made.namespace},
                f"_{group}_{found['kind'].lower()}": found,
                f"_{group}_{found['kind'].lower()}_spec": found["spec"],
            }

            def run(name: str, variables: Thing = variables) -> int:
                return runner.run("warm", role, variables, name=name).status

            with ThreadPoolExecutor() as pool:
                assert 0 in set(pool.map(run, ("a", "b")))
            assert run("a") == 0
            made.await_applied()
            assert made.content() == expected
    finally:
        runner.stop()
        stage.operator.start()
