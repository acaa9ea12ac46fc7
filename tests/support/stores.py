"""The stores of a local cluster, to be filled, watched and cut off."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import tarfile
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from support.forwarding import forwarded
from support.processes import pids_of_pod
from support.pushed_images import delete, enlarged, push
from support.servers import wait_until

from devctl.local.parts import load_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.commands import Kubectl

    from devctl.local.settings import ClusterSettings

NAMESPACE = "devctl-stores"
REGISTRY = load_parts()["stores"].registry
_LABEL = "app.kubernetes.io/name"


class Stores:
    """All three.

    Args:
        kubectl: The administrator's.
        cluster: The cluster that has them.
    """

    def __init__(self, kubectl: Kubectl, cluster: ClusterSettings) -> None:
        """Do nothing yet."""
        self._kubectl, self._cluster = kubectl, cluster

    def push(self, repository: str, base: Path, folder: Path, length: int) -> str:
        """Push an image with so many random bytes on top of a docker archive; its reference."""
        config, layers = enlarged(base, folder, length)
        tag = uuid4().hex[:8]  # nodes may have kept those of an earlier run
        with self._forwarded("registry") as url:
            push(url, repository, tag, config, layers)
        return f"{REGISTRY}/{repository}:{tag}"

    def delete(self, ref: str) -> None:
        """Delete an image, and the data that no other one has."""
        repository, _, tag = ref.removeprefix(f"{REGISTRY}/").rpartition(":")
        with self._forwarded("registry") as url:
            delete(url, repository, tag)
        collect = ["/program", "garbage-collect", "--delete-untagged"]
        self._exec("registry", [*collect, "/etc/registry/registry.yaml"])

    def add_repository(self, name: str, bare: Path) -> str:
        """Offer a bare repository; its URL in a plan."""
        send_repository(self._kubectl, bare, name)
        return git_url(name)

    def add_model(self, repo: str, length: int) -> str:
        """Offer a model with a file of so many random bytes, `weights`; its commit."""
        folder = f"/srv/models/{repo}"
        fill = f"mkdir -p {folder} && echo {{}} > {folder}/config.json"
        script = f"{fill} && head -c {length} /dev/urandom > {folder}/weights"
        self._exec("models", ["sh", "-c", script])
        return offer_model(self._kubectl, repo)

    def log(self, store: str) -> list[str]:
        """The requests that a store's present pod has answered."""
        where = ("-n", NAMESPACE, f"deployment/{store}", "--tail=-1")
        return self._kubectl("logs", *where).splitlines()

    def cut_off(self, store: str, begun: Callable[[], bool]) -> None:
        """Kill a store's processes as soon as something has begun; its pod starts them again."""
        (pod,) = self._kubectl.api.list("pod", NAMESPACE, labels=f"{_LABEL}={store}")
        # Found beforehand, and not `wait_until`, which looks too seldom: the rest takes a second.
        pids = pids_of_pod(self._cluster, pod["metadata"]["uid"])
        assert pids
        for _ in range(60_000):
            if begun():
                break
            time.sleep(0.003)
        else:
            pytest.fail(f"nobody fetches anything of {store}")
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        name, before = pod["metadata"]["name"], _restarts(pod)

        def restarted() -> bool:
            found = self._kubectl.api.get("pod", name, NAMESPACE)
            return found is not None and _restarts(found) > before

        wait_until(restarted, f"{store} is started again")
        self.wait_ready(store)

    def wait_ready(self, store: str) -> None:
        """Wait until a store serves."""
        which = ("-n", NAMESPACE, f"deployment/{store}")
        wait_until(lambda: self._has_pod(store), f"{store} has a pod")
        self._kubectl("rollout", "status", *which, "--timeout=120s")

    def _has_pod(self, store: str) -> bool:
        pods = self._kubectl.api.list("pod", NAMESPACE, labels=f"{_LABEL}={store}")
        return any("deletionTimestamp" not in pod["metadata"] for pod in pods)

    def _exec(self, store: str, command: list[str]) -> str:
        return execute(self._kubectl, store, command)

    @contextmanager
    def _forwarded(self, store: str) -> Iterator[str]:
        with forwarded(self._kubectl, NAMESPACE, f"service/{store}", 80) as port:
            yield f"http://127.0.0.1:{port}"


def _restarts(pod: dict[str, Any]) -> int:
    return sum(each["restartCount"] for each in pod["status"]["containerStatuses"])


def git_url(name: str) -> str:
    """Where the git server has a repository, by the scheme that plans take, whatever it speaks."""
    return f"https://git.{NAMESPACE}.svc/{name}.git"


def send_repository(kubectl: Kubectl, bare: Path, name: str) -> None:
    """Have the git server offer a copy of a bare repository, instead of any of that name."""
    _send(kubectl, "git", bare, f"/srv/git/{name}.git")


def send_model(kubectl: Kubectl, folder: Path, repo: str) -> str:
    """Have the model store offer a model, instead of any of that name; its commit."""
    _send(kubectl, "models", folder, f"/srv/models/{repo}")
    return offer_model(kubectl, repo)


def offer_model(kubectl: Kubectl, repo: str) -> str:
    """Have the model store offer the files that it has of a model; the commit."""
    command = ["python3", "/opt/web-stores/add_model.py", repo]
    return execute(kubectl, "models", command).strip()


def execute(kubectl: Kubectl, store: str, command: list[str], sent: bytes = b"") -> str:
    """Run a program in a store's pod; what it prints."""
    where = ["-n", NAMESPACE, f"deployment/{store}", "--stdin", "--"]
    program = [str(kubectl.program), f"--kubeconfig={kubectl.kubeconfig}", "exec"]
    done = subprocess.run(
        [*program, *where, *command], input=sent, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def _send(kubectl: Kubectl, store: str, folder: Path, target: str) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        tar.add(folder, ".")
    script = f"rm -rf {target} && mkdir -p {target} && tar -C {target} --no-same-owner -xf -"
    execute(kubectl, store, ["sh", "-c", script], packed.getvalue())
