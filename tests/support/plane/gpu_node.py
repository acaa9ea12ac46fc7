"""A node of a plane that offers GPUs: its plugin, its kubelet and its Redis, which may die."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from devctl_dra_plugin.names import AGENT, DRIVER
from support.plane import deaths
from support.plane.namespaces import ADDRESS
from support.plane.pki import PORT
from support.plane.process import Process
from support.plane.supervision import supervised
from support.plane.tokens import write_account
from support.redis_process import RedisProcess
from support.runs import python_with

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Kubectl

IMAGE = REPOSITORY / "images" / "dra-plugin"
SYSTEM = "canhazgpu-system"
GPUS = 4


def plugin_python() -> Path:
    """A Python with what the plugin's image has."""
    return python_with(IMAGE / "requirements.txt", "dra-plugin-tests")


@dataclass
class Mortal(Process):
    """A process that dies by a plan.

    Attributes:
        plan: As `deaths.plan` writes it.
    """

    plan: Path = field(kw_only=True)

    @property
    def expected_ends(self) -> int:
        """How often it has died by its plan."""
        return deaths.passed(self.plan)


class GpuNode:
    """One node; its GPUs are made up.

    Args:
        name: The node's name.
        root: An empty folder for it.
        python: One with what the plugin's image has.
        accounts: The folders with the tokens of plugin and kubelet.
        seed: In which order and when plugin and kubelet die.
    """

    def __init__(
        self, name: str, root: Path, python: Path, accounts: tuple[Path, Path], seed: str
    ) -> None:
        """Start nothing yet."""
        self.name, self.root = name, root
        for folder in ("cdi", "redis", "plugins_registry"):
            (root / folder).mkdir()
        self.redis = RedisProcess(root / "redis")
        self._plans = tuple(root / f"{each}.deaths" for each in ("plugin", "kubelet"))
        points = ((*deaths.PREPARING, *deaths.UNPREPARING), deaths.OF_KUBELETS)
        for file, those in zip(self._plans, points, strict=True):
            deaths.plan(file, those, f"{seed} {file.stem}")
        self._processes = [
            Mortal(
                [python, "-m", f"support.plane.{program}", *words],
                root / f"{program}.log",
                self._environment(number, accounts[number]),
                plan=self._plans[number],
            )
            for number, (program, words) in enumerate(
                (("mortal_plugin", ()), ("kubelet", (name, root)))
            )
        ]

    @contextmanager
    def running(self) -> Iterator[None]:
        """Plugin and kubelet run, and are started again whenever they have died."""
        self.redis.start()
        try:
            with ExitStack() as stack:
                for process in self._processes:
                    stack.enter_context(supervised(process))
                yield
        finally:
            self.redis.stop()

    @property
    def held(self) -> list[str]:
        """The claims of the plugin's record, by UID; none while there is no record yet."""
        file = self.root / "plugins" / DRIVER / "checkpoint.json"
        said = json.loads(file.read_text())["claims"] if file.exists() else []
        return [each["uid"] for each in said]

    @property
    def deaths_left(self) -> list[str]:
        """What of the plans is still to come."""
        return [each for file in self._plans for each in deaths.left(file)]

    @property
    def reserved(self) -> list[str]:
        """Who has a GPU by what Redis says."""
        keys = [f"canhazgpu:gpu:{index}" for index in range(GPUS)]
        said = [json.loads(self.redis.answer("GET", key) or "{}") for key in keys]
        return [str(each["user"]) for each in said if each.get("user")]

    @property
    def wrong(self) -> str:
        """What the container runtime has to complain about."""
        file = self.root / "wrong"
        return file.read_text() if file.exists() else ""

    @property
    def log(self) -> str:
        """The end of what plugin and kubelet say."""
        return "\n".join(f"{self.name} {each.name}:\n{each.tail()}" for each in self._processes)

    def _environment(self, plan: int, account: Path) -> dict[str, str]:
        paths = (REPOSITORY / "tests", IMAGE)
        return {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": ":".join(map(str, paths)),
            "PYTHONDONTWRITEBYTECODE": "1",
            "KUBERNETES_SERVICE_HOST": ADDRESS,
            "KUBERNETES_SERVICE_PORT": str(PORT),
            "ACCOUNT": str(account),
            "DEATHS": str(self._plans[plan]),
            "NODE_NAME": self.name,
            "MADE_UP_GPUS": str(GPUS),
            "KUBELET_ROOT": str(self.root),
            "CDI_ROOT": str(self.root / "cdi"),
            "READY_FILE": str(self.root / "ready"),
            "REDIS": f"unix://{self.redis.socket}",
            "REDIS_PASSWORD_FILE": str(self.redis.password),
        }


@contextmanager
def account_of(kubectl: Kubectl, node: str, folder: Path) -> Iterator[Path]:
    """The token of the plugin on a node: it is bound to a pod there."""
    name = f"plugin-{node}"
    spec = {
        "nodeName": node,
        "serviceAccountName": AGENT,
        "containers": [{"name": "main", "image": "none:1"}],
    }
    metadata = {"name": name, "namespace": SYSTEM}
    kubectl.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    folder.mkdir()
    bound = ("--bound-object-kind=Pod", f"--bound-object-name={name}")
    write_account(kubectl, folder, AGENT, SYSTEM, *bound)
    yield folder
    kubectl("delete", "pod", name, "-n", SYSTEM, "--grace-period=0", "--force")
