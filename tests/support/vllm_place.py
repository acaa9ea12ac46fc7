"""A namespace in which a user types `k8shazgpu`, and what can be seen in the pods of their runs."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import httpx2
from support.command_line import PROGRAM, CommandLine
from support.forwarding import forwarded
from support.user_place import ACCOUNT, user_place
from support.vllm_checkout import LISTS, Files, parsed
from support.vllm_runs import PLURAL, Run

from devctl.api.vllm_run import pod_name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Kubectl

K8SHAZGPU = PROGRAM.with_name("k8shazgpu")
RESTRICTED = "pod-security.kubernetes.io/enforce=restricted"
PATIENCE = 300.0
"""Seconds for an answer; a model computes on few processors."""


@dataclass(frozen=True)
class VllmPlace:
    """The namespace.

    Attributes:
        kubectl: The administrator's.
        name: The namespace.
        user: The user's shell, with `k8shazgpu`.
    """

    kubectl: Kubectl
    name: str
    user: CommandLine

    def run(self, name: str) -> Run:
        """A run as the administrator looks at it."""
        return Run(self.kubectl.api, self.name, name)

    def spec(self, name: str) -> dict[str, Any]:
        """What a run asks for."""
        found = self.kubectl.api.get(PLURAL, name, self.name)
        assert found
        return dict(found["spec"])

    def up(self, name: str, seconds: float = 120) -> Any:
        """Wait until a run is up, or runs if it serves nothing; its status. Fails if it ends."""
        run = self.run(name)
        found = run.follow(lambda s: s.get("phase") in _SETTLED, f"{name} is up", seconds)
        assert found["phase"] in {"Serving", "Running"}, (found, self.said(name))
        return found

    def gone(self, name: str) -> bool:
        """Whether nothing is left of a run."""
        run = self.run(name)
        return not (run.status or run.pod or run.claim)

    def said(self, name: str) -> str:
        """The last lines of a run's containers."""
        which = (pod_name(name), "--all-containers", "--prefix", "--tail=40")
        return self.kubectl("-n", self.name, "logs", *which)

    def inside(self, name: str, *command: str) -> str:
        """What a command prints in the container of a run."""
        where = (pod_name(name), "-c", "vllm", "--", *command)
        return self.kubectl("-n", self.name, "exec", *where)

    def tree(self, name: str, folder: str) -> Files:
        """The files of a folder in the container of a run."""
        return parsed(self.inside(name, "python3", "-c", LISTS, folder))

    @contextmanager
    def forwarded(self, name: str, port: int = 8000) -> Iterator[httpx2.Client]:
        """A client of what a run serves, by `kubectl port-forward`."""
        to = (self.name, f"pod/{pod_name(name)}", port, self.user.kubeconfig)
        with forwarded(self.kubectl, *to) as here:
            base = f"http://127.0.0.1:{here}"
            with httpx2.Client(base_url=base, timeout=PATIENCE, trust_env=False) as client:
                yield client


_SETTLED = {"Serving", "Running", "Succeeded", "Failed"}


def completed(client: httpx2.Client, model: str, prompt: str, tokens: int = 12) -> str:
    """What a model makes of a prompt, always the same."""
    asked = {"model": model, "prompt": prompt, "max_tokens": tokens, "temperature": 0}
    answer = client.post("/v1/completions", json=asked).raise_for_status()
    return str(answer.json()["choices"][0]["text"])


@contextmanager
def vllm_place(
    kubectl: Kubectl, administrator: Path, home: Path, image: str, images: str
) -> Iterator[VllmPlace]:
    """Such a namespace, which takes confined pods only; its runs are deleted in the end.

    Args:
        kubectl: The administrator's.
        administrator: Their kubeconfig.
        home: The user's home on this machine.
        image: Of the pods that carry large changes.
        images: The pattern of the images of a checkout's commits.
    """
    with user_place(kubectl, administrator, home, image) as place:
        kubectl("label", "namespace", place.name, RESTRICTED)
        # Who may also create the volumes that large changes travel in.
        role = ("--clusterrole=devctl-job-user", f"--serviceaccount={place.name}:{ACCOUNT}")
        kubectl("-n", place.name, "create", "rolebinding", "jobs", *role)
        environment = place.user.environment | {"DEVCTL_VLLM_IMAGES": images}
        user = replace(place.user, program=K8SHAZGPU, environment=environment)
        yield VllmPlace(kubectl, place.name, user)
        kubectl("-n", place.name, "delete", PLURAL, "--all", "--timeout=120s")
