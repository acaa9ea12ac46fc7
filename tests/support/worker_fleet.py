"""The GPU workers API of a real cluster, asked from outside while its replicas die."""

from __future__ import annotations

import random
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx2
import pytest
from support.commands import devctl, must
from support.forwarding import forwarded
from support.servers import wait_until
from support.worker_costs import PRICES, SMALL, micro

from devctl.api.gpu_worker_job import GROUP, LABEL, NAMESPACE, PLURAL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl

Thing = dict[str, Any]
GATEWAY = "gpu-workers-gateway"
KEEPER = "keeper"
"""An operator of nodes."""
_PODS = "app.kubernetes.io/name=gpu-workers,app.kubernetes.io/component=gateway"
_PATIENCE = 120.0
"""Seconds for one answer: longer than a replica needs to come back."""


@dataclass
class Fleet:
    """A way to whichever replica is there, for several users.

    Attributes:
        kubectl: The administrator's.
        cluster: Its name.
        image: What jobs run; it has bash.
        tokens: What has been signed, by user.
    """

    kubectl: Kubectl
    cluster: str
    image: str
    tokens: dict[str, str] = field(default_factory=dict)
    _way: ExitStack = field(default_factory=ExitStack)
    _port: int = 0

    def login(self, user: str, role: str = "user") -> None:
        """Get a token for somebody."""
        asked = ("local", "token", user, "--role", role, "--name", self.cluster)
        self.tokens[user] = must(devctl(*asked)).strip()

    def ask(self, user: str, method: str, path: str, **more: Any) -> httpx2.Response:
        """An answer of some replica, below 500; a request that was lost is sent again.

        A submission has one Idempotency-Key throughout, as clients are told.
        """
        headers = {"Authorization": f"Bearer {self.tokens[user]}"}
        if method == "POST":
            headers["Idempotency-Key"] = str(uuid4())
        started, last = time.monotonic(), "nothing was reached"
        while time.monotonic() - started < _PATIENCE:
            if self._port:
                url = f"http://127.0.0.1:{self._port}/gpu-workers{path}"
                try:
                    answer = httpx2.request(
                        method, url, headers=headers, timeout=20, trust_env=False, **more
                    )
                except httpx2.TransportError as error:
                    last = repr(error)
                else:
                    if answer.status_code < 500:
                        return answer
                    last = answer.text
            self._find_way()
        pytest.fail(f"{method} {path}: {last}")

    def get(self, user: str, path: str, **more: Any) -> Thing:
        """What is there; it must be."""
        answer = self.ask(user, "GET", path, **more)
        assert answer.status_code == 200, answer.text
        found: Thing = answer.json()
        return found

    def submit(self, user: str, name: str, script: str, **more: Any) -> str:
        """The ID of a new job that runs a script of bash's."""
        repository, _, tag = self.image.rpartition(":")
        image = {"docker_image": repository, "docker_tag": tag}
        job = {"job_name": name, "command": ["bash", "-c", script], **image, **SMALL, **more}
        answer = self.ask(user, "POST", "/jobs/", json=job)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["job_id"])

    def wait(self, user: str, job_id: str, *states: str, seconds: float = 120) -> Thing:
        """A job once it is in one of some states."""
        found: Thing = {}

        def so() -> bool:
            found.update(self.get(user, f"/jobs/{job_id}"))
            return found["state"] in states

        wait_until(so, lambda: f"{found.get('job_name')} is {states}: {found}", seconds)
        return found

    def object(self, job_id: str) -> Thing:
        """The cluster's own object of a job."""
        return self.kubectl.api.get(f"{PLURAL}.{GROUP}", job_id, NAMESPACE) or {}

    def pods_of(self, job_id: str) -> dict[str, Thing]:
        """The pods of a job, by name."""
        found = self.kubectl.api.list("pod", NAMESPACE, labels=f"{LABEL}={job_id}")
        return {pod["metadata"]["name"]: pod for pod in found}

    def replicas(self) -> list[Thing]:
        """The gateway's pods that are meant to stay."""
        found = self.kubectl.api.list("pod", NAMESPACE, labels=_PODS)
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def is_ready(self) -> bool:
        """Whether two replicas serve."""
        found = self.kubectl.api.get("deployment", GATEWAY, NAMESPACE)
        return bool(found and found["status"].get("readyReplicas") == 2)

    def price_nodes(self, count: int) -> None:
        """Wait until agents have registered that many nodes, and price them."""
        found: set[str] = set()

        def there() -> bool:
            nodes = self.get(KEEPER, "/nodes/")["items"]
            found.update(node["id"] for node in nodes if node["state"] == "active")
            return len(found) == count

        wait_until(there, lambda: f"agents have registered {found}", 120)
        for node_id in found:
            answer = self.ask(KEEPER, "PATCH", f"/nodes/{node_id}", json=PRICES)
            assert answer.status_code == 200, answer.text

    def cost(self, user: str, job_id: str) -> int:
        """What a job costs for good, in micro-units."""
        found: Thing = {}

        def final() -> bool:
            found.update(self.get(user, f"/jobs/{job_id}/cost"))
            return bool(found["final"])

        wait_until(final, lambda: f"{job_id} is charged: {found}", 120)
        return micro(found["amount"])

    @contextmanager
    def dying(self, every: float) -> Iterator[list[str]]:
        """Kill a replica, one at random, every few seconds; the names of those that were."""
        killed: list[str] = []
        ended, choice = Event(), random.Random(20)  # noqa: S311 - no secret

        def kill() -> None:
            while not ended.wait(every):
                with suppress(pytest.fail.Exception):  # the API server, or the pod, may be away
                    name = choice.choice(self.replicas())["metadata"]["name"]
                    now = ("--grace-period=0", "--force", "--wait=false")
                    self.kubectl("-n", NAMESPACE, "delete", "pod", name, *now)
                    killed.append(name)

        thread = Thread(target=kill)
        thread.start()
        try:
            yield killed
        finally:
            ended.set()
            thread.join()

    def close(self) -> None:
        """Leave."""
        self._way.close()

    def _find_way(self) -> None:
        self._way.close()
        self._port = 0
        time.sleep(0.5)
        with suppress(AssertionError):  # no pod runs
            to = (NAMESPACE, f"deployment/{GATEWAY}", 8000)
            self._port = self._way.enter_context(forwarded(self.kubectl, *to))
