"""What `k8shazgpu vllm run` sends of a checkout, to an API server with its kinds and rules."""

from __future__ import annotations

import base64
import json
import os
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest
from support.command_line import PROGRAM, CommandLine
from support.servers import wait_until
from support.tenants import ALICE, BOB, user_kubeconfig
from support.vllm_checkout import commit, git, new, write
from support.vllm_runs import PLURAL
from unit.client.checkout_things import push

from devctl.api.kinds import CACHE_PLAN

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Kubectl
    from support.plane.plane import Plane

RUN = ("vllm", "run", "--image", "localhost/any:1", "--cpu", "10m", "--memory", "16Mi", "--no-wait")
SERVE = ("--", "vllm", "serve", "m")
PLAN = f"{CACHE_PLAN.plural}.{CACHE_PLAN.group}"
URL = "https://git.example/upstream/vllm.git"


@pytest.fixture
def alice(
    deployed: Plane, kubectl: Kubectl, namespace: str, tmp_path: Path
) -> Iterator[CommandLine]:
    """A user in a checkout of vLLM, whose main branch nodes are to have."""
    made = user(deployed, kubectl, namespace, tmp_path, ALICE, "devctl-user")
    root = replace(made, kubeconfig=deployed.kubeconfig)
    root.must("cache", "add", "gitrepo", URL, "--branch", "main", "--name", "vllm-main")
    yield made
    made("cleanup", "--all", "--wait")
    kubectl.api.delete(PLAN, "default")


def user(
    deployed: Plane, kubectl: Kubectl, namespace: str, home: Path, name: str, *roles: str
) -> CommandLine:
    for role in roles:
        where = ("-n", namespace, f"--clusterrole={role}", f"--user={name}")
        kubectl("create", "rolebinding", f"{name.partition('@')[0]}-{role}", *where)
    kubeconfig = user_kubeconfig(kubectl, deployed.kubeconfig, name, home)
    return CommandLine(kubeconfig, namespace, home, {}, PROGRAM.with_name("k8shazgpu"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = new(tmp_path / "vllm")
    write(root, {"pyproject.toml": '[project]\nname = "vllm"\n', "vllm/__init__.py": ""})
    commit(root)
    push(root, "upstream")
    return root


def capsules(kubectl: Kubectl, namespace: str, kind: str = "configmap") -> list[Any]:
    label = "app.kubernetes.io/managed-by=devctl-vllm"
    found = kubectl("get", kind, "-n", namespace, "-l", label, "-o", "json")
    return list(json.loads(found)["items"])


def test_a_capsule_is_sent_once_replayed_and_cleaned_up(
    alice: CommandLine, kubectl: Kubectl, root: Path
) -> None:
    write(root, {"vllm/new.py": "x = 1\n", "vllm/data.bin": os.urandom(300_000)})
    said = alice(*RUN, "--name", "one", *SERVE, cwd=root)
    assert said.returncode == 0, said.stderr
    assert b"  Local changes: 2 added (2 untracked)\n" in said.stderr
    run = kubectl.api.get(PLURAL, "one", alice.namespace)
    assert run
    (stored,) = capsules(kubectl, alice.namespace)
    digest = sha256(base64.b64decode(stored["binaryData"]["capsule"])).hexdigest()
    assert run["spec"]["checkout"] == {
        "commit": git(root, "rev-parse", "HEAD"),
        "capsule": {"digest": digest, "configMap": stored["metadata"]["name"]},
        "package": "vllm",
    }
    assert run["spec"]["repoName"] == "vllm-main"
    # The same state, and the very same capsule whatever the state is by now.
    alice.must(*RUN, "--name", "two", *SERVE, cwd=root)
    write(root, {"vllm/new.py": "x = 2\n"})
    assert alice.must("vllm", "replay", "one", "--name", "three", "--no-wait") == (
        "vllmrun/three created\n"
    )
    for name in ("two", "three"):
        other = kubectl.api.get(PLURAL, name, alice.namespace)
        assert other
        assert other["spec"]["checkout"] == run["spec"]["checkout"]
        assert other["spec"]["owner"] == ALICE
    assert len(capsules(kubectl, alice.namespace)) == 1
    assert f"capsule {digest[:12]}" in alice.must("vllm", "describe", "three")
    alice.must("cleanup", "--name", "one", "--name", "two", "--wait")
    assert len(capsules(kubectl, alice.namespace)) == 1
    alice.must("cleanup", "--all", "--wait")
    assert capsules(kubectl, alice.namespace) == []


def test_a_replay_needs_the_capsule(alice: CommandLine, kubectl: Kubectl, root: Path) -> None:
    write(root, {"vllm/new.py": "x"})
    alice.must(*RUN, "--name", "one", *SERVE, cwd=root)
    (stored,) = capsules(kubectl, alice.namespace)
    kubectl("delete", "configmap", stored["metadata"]["name"], "-n", alice.namespace)
    assert "the capsule of `one` is gone" in alice.fails(3, "vllm", "replay", "one")


def test_the_largest_capsule_fits_in_a_config_map(
    alice: CommandLine, kubectl: Kubectl, root: Path
) -> None:
    write(root, {"vllm/data.bin": os.urandom(695_000)})
    alice.must(*RUN, "--name", "one", *SERVE, cwd=root)
    assert len(capsules(kubectl, alice.namespace)) == 1


def test_a_volume_takes_the_role_for_it(
    alice: CommandLine, kubectl: Kubectl, deployed: Plane, root: Path, tmp_path: Path
) -> None:
    write(root, {"vllm/data.bin": os.urandom(800_000)})
    said = alice.fails(5, *RUN, "--name", "one", *SERVE, cwd=root)
    assert "too large for a ConfigMap" in said
    assert "`devctl-job-user`" in said
    home = tmp_path / "bob"
    home.mkdir()
    roles = ("devctl-user", "devctl-job-user")
    bob = user(deployed, kubectl, alice.namespace, home, BOB, *roles)
    # No command can run in a pod here, so the volume stays empty, and nothing says that it is
    # complete.
    assert "loader-capsule-" in bob.fails(1, *RUN, "--name", "one", *SERVE, cwd=root)
    assert len(capsules(kubectl, alice.namespace, "persistentvolumeclaim")) == 1
    assert capsules(kubectl, alice.namespace) == []
    assert not kubectl.api.get(PLURAL, "one", alice.namespace)
    bob.must("cleanup", "--all")
    wait_until(
        lambda: not capsules(kubectl, alice.namespace, "persistentvolumeclaim"), "it is gone"
    )


def test_secrets_reach_no_cluster(alice: CommandLine, kubectl: Kubectl, root: Path) -> None:
    write(root, {".env": "PASSWORD=x\n"})
    said = alice.fails(2, *RUN, "--name", "one", *SERVE, cwd=root)
    assert "nothing was sent: `.env` may hold secrets" in said
    assert capsules(kubectl, alice.namespace) == []
    assert not kubectl.api.get(PLURAL, "one", alice.namespace)
