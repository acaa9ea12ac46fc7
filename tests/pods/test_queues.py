"""Servers and jobs of a team in its queue, on real pods."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from support.command_line import CommandLine
from support.egpu_place import EGPU
from support.jobs import WAITS, Job
from support.servers import KEEP, DevServer, apply_flavor, wait_until

from devctl.api.ephemeral_acceleration_job import KIND
from devctl.api.queues import local_queue

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Kubectl

    from devctl.local.images import Image

pytestmark = pytest.mark.usefixtures("deployed")

GROUP = "devops.yourcompany.com/v1"
SMALL = {"requests": {"cpu": "50m", "memory": "32Mi"}, "limits": {"memory": "256Mi"}}
GATE = {"name": "kueue.x-k8s.io/admission"}
MANAGER = ("-n", "kueue-system")
DEPLOYMENT = "deployment/kueue-controller-manager"


@dataclass(frozen=True)
class Team:
    """A team with one flavor, both of one name, and the namespace of one member."""

    kubectl: Kubectl
    name: str
    image: str
    shell: CommandLine
    """The administrator's, in that namespace."""

    @property
    def namespace(self) -> str:
        return f"dev-{self.name}"

    def server(self, name: str, pods: int = 1, **spec: Any) -> DevServer:
        """A server of the member's, not created yet."""
        common: dict[str, Any] = {
            "owner": f"{self.name}@company.com",
            "flavor": self.name,
            "image": self.image,
        }
        common |= {"persistentHomeSize": "10Mi"}
        if pods > 1:
            common |= {"mode": "distributed", "distributed": {"worldSize": pods}}
        return DevServer(self.kubectl, self.namespace, common | spec, name)

    def job(self, name: str, **spec: Any) -> Job:
        """A job of the member's that takes one pod of the quota, not created yet."""
        resources = {"gpu": 0, **SMALL["requests"]}
        wanted = {"flavor": self.name, "resources": resources, "command": WAITS} | spec
        return Job(self.kubectl, self.namespace, self.image, name, wanted)

    def gated(self, name: str) -> list[bool]:
        """Whether each pod of a server waits for quota."""
        found = self.kubectl.api.list("pod", self.namespace)
        pods = [p for p in found if p["metadata"]["name"].rpartition("-")[0] == name]
        return [GATE in pod["spec"].get("schedulingGates", []) for pod in pods]

    def nodes(self, name: str) -> list[str]:
        """The nodes of the pods of a server."""
        found = self.kubectl.api.list("pod", self.namespace)
        pods = [p for p in found if p["metadata"]["name"].rpartition("-")[0] == name]
        return [p["spec"]["nodeName"] for p in pods if p["spec"].get("nodeName")]

    def used(self) -> int:
        """The pods that count against the quota, as `devctl quota` says."""
        rows = [line.rsplit(maxsplit=3) for line in self.shell.must("quota").splitlines()]
        (used,) = [
            int(row[1]) for row in rows if row[0] == f"pods of `{self.name}`, team `{self.name}`"
        ]
        return used


@contextmanager
def a_team(
    kubectl: Kubectl, kubeconfig: Path, home: Path, image: str, pods: int, **flavor: Any
) -> Iterator[Team]:
    """A team with a quota of pods, and its queue in the member's namespace."""
    name = f"q{uuid4().hex[:6]}x"
    apply_flavor(kubectl, name, resources=SMALL, **flavor)
    quota = [{"name": name, "pods": pods}]
    # A cohort of its own: other tests' teams lend nothing.
    team = {"flavors": quota, "cohort": name}
    user = {"username": f"{name}@company.com", "team": name, "priority": "high"}
    for kind, spec in (("DevServerTeam", team), ("DevServerUser", user)):
        kubectl.api.apply(
            {"apiVersion": GROUP, "kind": kind, "metadata": {"name": name}, "spec": spec}
        )
    made = Team(kubectl, name, image, CommandLine(kubeconfig, f"dev-{name}", home))

    def ready() -> bool:
        return kubectl.api.get("localqueue", local_queue(name), made.namespace) is not None

    wait_until(ready, "the queue is there", 120)
    yield made
    kubectl("-n", made.namespace, "delete", "devserver,eaj", "--all", "--timeout=90s")
    for kind, thing in (("devserveruser", name), ("ns", made.namespace), ("devserverteam", name)):
        kubectl("delete", kind, thing, "--wait=false")
    kubectl("delete", "devserverflavor", name, "--wait=false")


@pytest.fixture
def team(
    kubectl: Kubectl, kubeconfig: Path, tmp_path: Path, images: dict[str, Image]
) -> Iterator[Team]:
    """A team with quota for three pods."""
    with a_team(kubectl, kubeconfig, tmp_path, images["base"].reference, 3) as made:
        yield made


@pytest.fixture
def preemptible(
    kubectl: Kubectl, kubeconfig: Path, tmp_path: Path, images: dict[str, Image]
) -> Iterator[Team]:
    """A team with quota for one pod of a preemptible flavor."""
    image = images["base"].reference
    with a_team(kubectl, kubeconfig, tmp_path, image, 1, preemptible=True) as made:
        yield made


def is_queued(server: DevServer) -> bool:
    ready = server.condition("Ready")
    return ready.get("reason") == "Queued" and "Kueue has not answered" not in ready["message"]


def preempted(one: DevServer | Job) -> int:
    """How many Events tell that a server or job itself was preempted."""
    mine = ("DevServer" if isinstance(one, DevServer) else KIND, one.name)
    found = [e["involvedObject"] for e in one.get("event") if e["reason"] == "Preempted"]
    return sum((about["kind"], about["name"]) == mine for about in found)


def test_a_distributed_server_waits_as_a_whole_and_says_for_what(team: Team) -> None:
    first, second = (
        team.server("first", 2, lifecycle={"timeToLive": "2h"}),
        team.server("second", 2),
    )
    first.apply()
    first.wait("Ready")
    second.apply()
    wait_until(lambda: is_queued(second), lambda: f"it is queued: {second.status}")
    # One of its pods would fit.
    wait_until(lambda: team.gated("second") == [True, True], "neither pod starts")
    assert second.status["phase"] == "Pending"
    where = f"waiting in the queue of team `{team.name}` for flavor `{team.name}`"
    said = f"{where}: not enough quota is free: it needs 50m more cpu, 32Mi more memory"
    wait_until(
        lambda: second.condition("Ready")["message"] == said, lambda: f"{said}: {second.status}"
    )

    wait_until(lambda: "place 1 in the queue" in team.shell.must("status", "second"), "its place")
    # Kueue counts what is in use every second or so.
    wait_until(lambda: team.used() == 2, "the first one counts")
    told = team.shell.must("describe", "second")
    assert "2 of 3 pods in use" in told
    assert "`first` (2 pods, deleted in " in told
    assert "at the latest, based on when `first` will be deleted" in told
    line = ("create", "third", "--flavor", team.name, "--image", team.image, "--dry-run=server")
    limit = team.shell(*line, "--replicas", "2").stderr.decode()
    assert f"it would wait: team: team `{team.name}` has 1 of 3 pods" in limit
    assert "it could not start: team:" in team.shell(*line, "--replicas", "4").stderr.decode()

    first.stop()
    second.wait("Ready")
    assert len(team.nodes("second")) == 2
    first.apply(stopped=False)
    wait_until(lambda: is_queued(first), "now the first one waits")
    second.stop()
    first.wait("Ready")


def test_a_queued_server_that_is_stopped_leaves_the_queue(team: Team) -> None:
    first, second = team.server("first", 3), team.server("second")
    first.apply()
    first.wait("Ready")
    second.apply()
    wait_until(lambda: is_queued(second), "it is queued")
    second.stop()
    third = team.server("third", 2)
    third.apply()
    first.stop()
    third.wait("Ready")
    # The stopped one holds no quota, though it was the first in the queue.
    wait_until(lambda: team.used() == 2, lambda: f"the third one counts alone: {team.used()}")
    second.start()
    wait_until(lambda: team.used() == 3, lambda: f"both count: {team.used()}")


def test_a_preempted_server_is_stopped_with_the_reason_and_keeps_its_files(
    preemptible: Team,
) -> None:
    team, name = preemptible, preemptible.name
    low, high = team.server("low", priority="low"), team.server("high", priority="high")
    low.apply()
    low.wait("Ready")
    team.shell.must("exec", "low", "--", "sh", "-c", KEEP)
    high.apply()
    high.wait("Ready")
    low.follow(lambda found: found["status"].get("phase") == "Stopped", "it is stopped")
    assert low.get("devserver", "low")[0]["spec"]["stopped"] is True
    ready = low.condition("Ready")
    assert ready["reason"] == "Preempted"
    assert "a server or job with a higher priority needed its quota" in ready["message"]
    assert "Preempted" in team.shell.must("list")
    wait_until(lambda: preempted(low) == 1, lambda: f"an Event tells of it: {preempted(low)}")
    assert team.gated("low") == []

    team.shell.must("start", "low", "--no-wait")
    wait_until(lambda: is_queued(low), lambda: f"{name} is queued again: {low.status}")
    high.stop()
    low.wait("Ready")
    assert team.shell.must("exec", "low", "--", "cat", "/home/dev/file") == "kept\n"


def test_a_job_waits_for_another_one_and_runs_after_it(preemptible: Team) -> None:
    team = preemptible
    first, second = team.job("first"), team.job("second")
    first.apply()
    first.wait("Running")
    second.apply()
    where = f"waiting in the queue of team `{team.name}` for flavor `{team.name}`"
    short = f"{where}: not enough quota is free: it needs 50m more cpu, 32Mi more memory"
    wait_until(lambda: second.status.get("message") == short, lambda: f"it waits: {second.status}")
    assert (second.phase, second.status["reason"]) == ("Pending", "Queued")
    pod = second.get("pod", second.pod)[0]
    assert GATE in pod["spec"]["schedulingGates"]
    egpu = replace(team.shell, program=EGPU)
    wait_until(lambda: "place 1 in the queue" in egpu.must("get", "second"), "its place")
    assert "Held by: job `first` (1 pod)" in " ".join(egpu.must("get", "second").split())
    wait_until(lambda: team.used() == 1, "the first one counts")
    first.run("touch /artifacts/go")
    first.wait("Succeeded")
    first.wait_gone("pod", first.pod)
    second.wait("Running")
    wait_until(lambda: team.used() == 1, lambda: f"the second one counts: {team.used()}")
    second.delete()
    wait_until(lambda: team.used() == 0, "a deleted job frees its quota")


def test_a_preempted_job_has_failed_and_keeps_its_volume(preemptible: Team) -> None:
    team = preemptible
    low, high = team.job("low", priority="low"), team.job("high", priority="high")
    low.apply()
    low.wait("Running")
    low.run("echo kept > /artifacts/file")
    high.apply()
    status = low.wait("Failed", "Preempted")
    assert "a server or job with a higher priority needed its quota" in status["message"]
    assert "exitCode" not in status
    high.wait("Running")
    low.wait_gone("pod", low.pod)
    assert low.get("pvc", low.claim)
    wait_until(lambda: preempted(low) == 1, lambda: f"an Event tells of it: {preempted(low)}")
    high.delete()
    assert not low.get("pod", low.pod), "it gets no other pod"


@pytest.mark.exclusive
def test_while_kueue_is_down_what_runs_goes_on_and_what_is_new_waits(
    team: Team, kubectl: Kubectl
) -> None:
    running, queued, new = team.server("running", 2), team.server("queued", 2), team.server("new")
    running.apply()
    running.wait("Ready")
    queued.apply()
    wait_until(lambda: is_queued(queued), "it is queued")
    kubectl(*MANAGER, "scale", DEPLOYMENT, "--replicas=0")
    kubectl(*MANAGER, "wait", "pod", "--all", "--for=delete", "--timeout=60s")
    try:
        assert team.shell.must("exec", "running", "--", "echo", "on") == "on\n"
        new.apply()
        wait_until(
            lambda: new.condition("Ready").get("reason") == "QueueUnavailable",
            lambda: f"it waits: {new.status}",
        )
        assert new.status["phase"] == "Pending"
        assert "Kueue does not answer" in new.condition("Ready")["message"]
        assert "Kueue does not answer" in team.shell("doctor").stdout.decode()
        assert running.condition("Ready")["status"] == "True"
        assert "in the queue of team" in team.shell.must("describe", "queued")
    finally:
        kubectl(*MANAGER, "scale", DEPLOYMENT, "--replicas=1")
        kubectl(*MANAGER, "rollout", "status", DEPLOYMENT, "--timeout=90s")
    # In its place: it would fit, and does not pass the one that came before.
    wait_until(lambda: is_queued(new), lambda: f"it is queued: {new.status}")
    assert running.condition("Ready")["status"] == "True"
    running.stop()
    queued.wait("Ready")
    new.wait("Ready")
