"""Whatever goes wrong on the way, the role ends in the same objects.

The operator is away meanwhile: the tests run its role themselves, so as to kill it where they want.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from support.commands import must
from support.fault_proxy import Fault, FaultProxy, fault_proxy
from support.servers import DevServer, apply_flavor, wait_until

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl

    from devctl.local.images import Image
    from devctl.local.paths import ClusterPaths

pytestmark = pytest.mark.usefixtures("operator_away")

KINDS = "statefulset,service,configmap,secret,persistentvolumeclaim"
PLAY = {
    "hosts": "localhost",
    "connection": "local",
    "gather_facts": False,
    "roles": ["devserver"],
}


@pytest.fixture
def server(kubectl: Kubectl, namespace: str, images: dict[str, Image]) -> Iterator[DevServer]:
    """A stopped server of two ranks: all of its objects are the role's own."""
    apply_flavor(kubectl, namespace, resources={"requests": {"cpu": "20m", "memory": "32Mi"}})
    spec = {
        "owner": "alice@company.com",
        "flavor": namespace,
        "image": images["base"].reference,
        "persistentHomeSize": "10Mi",
        "stopped": True,
        "mode": "distributed",
        "distributed": {"worldSize": 2, "backend": "gloo"},
    }
    yield DevServer(kubectl, namespace, spec)
    kubectl("-n", namespace, "delete", "devserver", "--all")
    kubectl("delete", "devserverflavor", namespace)


class Role:
    """Runs the role as the operator does, in processes of the test's own."""

    def __init__(self, server: DevServer, folder: Path) -> None:
        self.server, self.folder = server, folder
        (folder / "play.yml").write_text(yaml.safe_dump([PLAY]))

    def start(self, kubeconfig: str) -> subprocess.Popen[str]:
        """Start a run through a kubeconfig."""
        found = self.server.get("devserver", self.server.name)[0]
        variables = {
            "ansible_operator_meta": {"name": self.server.name, "namespace": self.server.namespace},
            "_devops_yourcompany_com_devserver": found,
            "_devops_yourcompany_com_devserver_spec": found["spec"],
        }
        (self.folder / "variables.json").write_text(json.dumps(variables))
        plugins = REPOSITORY / "plugins"
        program = Path(sys.executable).with_name("ansible-playbook")
        return subprocess.Popen(
            [program, self.folder / "play.yml", "-e", f"@{self.folder}/variables.json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            env=os.environ
            | {
                "ANSIBLE_CONFIG": str(self.folder / "none.cfg"),
                "ANSIBLE_ROLES_PATH": str(REPOSITORY / "roles"),
                "ANSIBLE_ACTION_PLUGINS": str(plugins / "action"),
                "ANSIBLE_FILTER_PLUGINS": str(plugins / "filter"),
                "ANSIBLE_LOOKUP_PLUGINS": str(plugins / "lookup"),
                "K8S_AUTH_KUBECONFIG": kubeconfig,
                "PYTHONPATH": str(plugins),
            },
        )

    def run(self, kubeconfig: str) -> str:
        """Run to the end; what it printed."""
        process = self.start(kubeconfig)
        output, _ = process.communicate(timeout=120)
        return must(subprocess.CompletedProcess(process.args, process.returncode, output, ""))

    def changed(self, kubeconfig: str) -> int:
        """How many tasks of a run changed something."""
        found = re.search(r"changed=(\d+)", self.run(kubeconfig))
        assert found
        return int(found[1])


@pytest.fixture
def role(server: DevServer, tmp_path: Path) -> Role:
    server.apply()
    return Role(server, tmp_path)


@pytest.fixture
def proxy(kubeconfig: Path, tmp_path: Path) -> Iterator[FaultProxy]:
    with fault_proxy(kubeconfig, tmp_path) as made:
        yield made


def content(server: DevServer) -> dict[str, Any]:
    """What the role is answerable for in each object, with nothing that differs from run to run."""
    found = {}
    for thing in server.get(KINDS):
        metadata = thing["metadata"]
        if metadata["name"] == "kube-root-ca.crt":
            continue
        owners = [owner["name"] for owner in metadata.get("ownerReferences", [])]
        # A key is made anew with each server; that it is there is what counts.
        data = sorted(thing.get("data", {})) if thing["kind"] == "Secret" else thing.get("data")
        found[f"{thing['kind']}/{metadata['name']}"] = [
            metadata["labels"],
            metadata.get("annotations"),
            owners,
            thing.get("spec"),
            data,
        ]
    return json.loads(json.dumps(found).replace(server.namespace, "NAMESPACE"))  # type: ignore[no-any-return]


def start_over(server: DevServer) -> None:
    """The server again, as if it had never been."""
    server.kubectl("-n", server.namespace, "delete", "devserver", server.name)
    wait_until(lambda: not server.get("statefulset,service,secret"), "its objects are gone")
    server.kubectl("-n", server.namespace, "delete", "pvc", "--all")
    server.apply()


def test_a_run_that_is_killed_after_any_write_is_made_up_for(
    server: DevServer, role: Role, proxy: FaultProxy, kubeconfig: Path
) -> None:
    role.run(proxy.kubeconfig)
    expected, total = content(server), len(proxy.writes)
    assert total == 7  # two homes, service, scripts, key, StatefulSet, condition
    for last in range(1, total + 1):
        start_over(server)
        proxy.writes.clear()
        process = role.start(proxy.kubeconfig)
        proxy.after_write = lambda number, stop=process, at=last: (  # type: ignore[misc]
            os.killpg(stop.pid, signal.SIGKILL) if number == at else None
        )
        process.wait(timeout=60)
        assert process.returncode, f"it was not killed after write {last}"
        proxy.after_write = lambda _: None
        role.run(str(kubeconfig))
        assert content(server) == expected, f"killed after write {last}"
        server.settle()
        before = server.versions(KINDS)
        assert role.changed(str(kubeconfig)) == 0
        assert server.versions(KINDS) == before


@pytest.mark.parametrize("fault", Fault)
def test_a_fault_in_every_write_changes_nothing_in_the_end(
    server: DevServer, role: Role, proxy: FaultProxy, kubeconfig: Path, fault: Fault
) -> None:
    role.run(str(kubeconfig))
    expected = content(server)
    start_over(server)

    proxy.fault = fault
    # Ten seconds of silence for each write are more than a run has: the operator runs it again.
    for _ in range(8):
        process = role.start(proxy.kubeconfig)
        process.communicate(timeout=120)
        if process.returncode == 0:
            break
    assert process.returncode == 0

    assert content(server) == expected
    server.settle()
    before = server.versions(KINDS)
    assert role.changed(str(kubeconfig)) == 0
    assert server.versions(KINDS) == before
    assert server.condition("Applied")["status"] == "True"


def test_two_runs_at_once_double_nothing(
    server: DevServer, role: Role, kubeconfig: Path
) -> None:
    role.run(str(kubeconfig))
    expected = content(server)
    for _ in range(3):
        start_over(server)
        both = [role.start(str(kubeconfig)) for _ in range(2)]
        for process in both:
            process.communicate(timeout=60)
        role.run(str(kubeconfig))
        assert content(server) == expected
        assert role.changed(str(kubeconfig)) == 0


def test_changes_and_back_end_where_a_fresh_server_does(
    server: DevServer, role: Role, kubeconfig: Path
) -> None:
    role.run(str(kubeconfig))
    expected = content(server)
    changes: list[dict[str, Any]] = [
        {"mode": "standalone"},
        {"distributed": {"worldSize": 8, "nprocsPerNode": 4}},
        {"enableSSH": False},
        {"sharedVolumeClaimName": "data"},
        {"image": "localhost/other:1"},
    ]
    for change in changes:
        server.apply(**change)
        assert role.changed(str(kubeconfig)) == 1
        server.apply(**{name: server.spec.get(name) for name in change})
        role.run(str(kubeconfig))
        after = content(server)
        # Homes are never taken away.
        assert {name: after[name] for name in expected} == expected, change
