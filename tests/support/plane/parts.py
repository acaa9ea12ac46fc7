"""The operator and the observer of this checkout as processes, each with its account's rights."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from support.plane.beside import ALONE, Place
from support.plane.process import Process

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

OPERATOR_PORT, RUNNER_PORT, OBSERVER_PORT = 6789, 8082, 6790
OPERATOR_POD = "devctl-operator"
# A process that is alone has nobody to wait for: a dead one's lease would keep it for 15 s.
_ELECTION = "--leader-elect"
_BIN = {"ansible-runner": "client", "devctl-runnerd": "daemon.__main__"}
# What the observer logs when a clock was set, and when time has passed at once.
_SET, _PASSED = "the clock was set by", "have passed at once"


def is_ready(port: int, address: str = "127.0.0.1") -> bool:
    """Whether something answers there that it is ready."""
    try:
        with urllib.request.urlopen(f"http://{address}:{port}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def is_warm(port: int, address: str) -> bool:
    """Whether a runner answers there: it does once it is warm."""
    try:
        return bool(figures(port, "", address))
    except (urllib.error.URLError, OSError):
        return False


def figures(port: int, prefix: str, address: str = "127.0.0.1") -> dict[str, float]:
    """What a process counts, by name and labels, less what all of its names begin with."""
    with urllib.request.urlopen(f"http://{address}:{port}/metrics", timeout=5) as answer:
        lines = answer.read().decode().splitlines()
    pairs = (line.rpartition(" ") for line in lines if line and not line.startswith("#"))
    return {name.removeprefix(prefix): float(value) for name, _, value in pairs}


def manifest_options(*, elects: bool) -> list[str]:
    """What the operator's Deployment starts it with, with or without an election."""
    text = (REPOSITORY / "config/manager/deployment.yaml").read_text()
    options: list[str] = yaml.safe_load(text)["spec"]["template"]["spec"]["containers"][0]["args"]
    if elects:
        return [*options, "--leader-election-namespace=devctl-system"]
    return [option for option in options if not option.startswith(_ELECTION)]


class OperatorProcess:
    """ansible-operator and the warm runner, from this checkout's roles and plugins.

    Args:
        program: ansible-operator.
        python: One with what the operator's image has.
        kubeconfig: Whose rights it has.
        folder: Where its files and logs go.
        modules: Folders of Python modules that come before all others.
        place: Where it runs, and whether with others.
        checkout: Of which release its roles and plugins are.
    """

    def __init__(  # noqa: PLR0913 - what makes one differ from another
        self,
        program: Path,
        python: Path,
        kubeconfig: Path,
        folder: Path,
        *modules: Path,
        place: Place = ALONE,
        checkout: Path = REPOSITORY,
    ) -> None:
        """Write what it reads, and start nothing yet."""
        self._checkout = checkout
        folder.mkdir(exist_ok=True)
        self._folder, self._python, self._modules = folder, python, modules
        self._address = place.address
        self._programs()
        watches = yaml.safe_load((checkout / "watches.yaml").read_text())
        for watch in watches:
            watch["role"] = watch["role"].replace("/opt/operator", str(checkout))
        file = folder / "watches.yaml"
        file.write_text(yaml.safe_dump(watches))
        environment = self._environment(kubeconfig, file)
        self.runner = Process(
            [*place.prefix, self._python, "-P", "-m", "devctl_runner.daemon"],
            folder / "runner.log",
            environment,
        )
        options = [*manifest_options(elects=place.elects), f"--watches-file={file}"]
        options += ["--ansible-verbosity=0", "--ansible-log-events=Nothing"]
        command: list[str | Path] = [*place.prefix, program, "run", *options]
        self.operator = Process(command, folder / "operator.log", environment)

    def start(self, *, held: bool = False) -> None:
        """Start the runner until it is warm, and then the operator until it has its caches.

        Args:
            held: Whether the runner is frozen by then, so that no run ends before it is thawed.
        """
        self._forbid_others()
        self.runner.start()
        self.runner.await_so(lambda: is_warm(RUNNER_PORT, self._address), "it is warm")
        if held:
            self.runner.freeze()
        self.operator.start()
        self.operator.await_so(lambda: is_ready(OPERATOR_PORT, self._address), "it is ready")

    def stop(self) -> None:
        """End both; runs that have started are ended with them."""
        self.operator.stop()
        self.runner.stop()

    def kill(self) -> None:
        """kill -9 for both and for every run, as when their container dies."""
        self.operator.kill()
        self.kill_runs()
        self.runner.kill()

    def kill_runs(self) -> None:
        """kill -9 for every process that the runner has for runs."""
        if self.runner.is_running:
            pid = self.runner.pid
            for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
                with suppress(ProcessLookupError):
                    os.kill(int(child), signal.SIGKILL)

    def runs(self) -> dict[str, float]:
        """The runner's figures."""
        return figures(RUNNER_PORT, "devctl_runner_", self._address)

    def _forbid_others(self) -> None:
        """Have clients take a runner for just started: nobody here would end one of theirs."""
        mark = self._folder / "daemon/started"
        mark.parent.mkdir(mode=0o700, exist_ok=True)
        mark.touch()
        tomorrow = time.time() + 86400
        os.utime(mark, (tomorrow, tomorrow))

    def _programs(self) -> None:
        folder = self._folder / "bin"
        folder.mkdir(exist_ok=True)
        for name, module in _BIN.items():
            # As the image starts them: without the site module.
            options = "-SP" if module == "client" else "-P"
            package = self._checkout / "images/operator"
            text = f'#!{self._python} {options}\nimport sys\n\nsys.path.insert(0, "{package}")\n'
            text += f"from devctl_runner.{module} import main\n\nsys.exit(main())\n"
            program = folder / name
            program.write_text(text)
            program.chmod(0o755)

    def _environment(self, kubeconfig: Path, watches: Path) -> Mapping[str, str]:
        plugins, home = self._checkout / "plugins", self._folder / "home"
        package = self._checkout / "images/operator"
        home.mkdir(exist_ok=True)
        ansible = {
            "HOME": home,
            "LOCAL_TEMP": home / "tmp",
            "REMOTE_TEMP": home / "tmp",
            "CONFIG": home / "none.cfg",
            "ROLES_PATH": self._checkout / "roles",
            "GATHERING": "explicit",
        }
        for kind in ("action", "filter", "lookup"):
            if (plugins / kind).exists():
                ansible[f"{kind.upper()}_PLUGINS"] = plugins / kind
        return {
            "PATH": f"{self._folder / 'bin'}:{self._python.parent}:{os.environ['PATH']}",
            "HOME": str(home),
            "LC_ALL": "C.UTF-8",
            "KUBECONFIG": str(kubeconfig),
            "POD_NAME": OPERATOR_POD,
            "POD_NAMESPACE": "devctl-system",
            "PYTHONPATH": ":".join(map(str, (*self._modules, package, plugins, self._checkout))),
            "PYTHONDONTWRITEBYTECODE": "1",
            "DEVCTL_RUNNER_DIR": str(self._folder / "daemon"),
            "DEVCTL_RUNNER_WATCHES": str(watches),
            "DEVCTL_RUNNER_METRICS_PORT": str(RUNNER_PORT),
            **image_settings(self._checkout),
            **{f"ANSIBLE_{name}": str(value) for name, value in ansible.items()},
        }


def image_settings(checkout: Path = REPOSITORY) -> dict[str, str]:
    """What the operator's image says of the warm runner, and of how client-go lists."""
    text = (checkout / "images/operator/Containerfile").read_text()
    names = ("DEVCTL_RUNNER_PRELOAD", "DEVCTL_RUNNER_IN_PROCESS", "KUBE_FEATURE_WatchListClient")
    said = {name: text.partition(f'{name}="')[2].partition('"')[0] for name in names}
    # An earlier release says less.
    return {name: value for name, value in said.items() if value}


class ObserverProcess(Process):
    """The observer, with clocks that a test sets.

    Args:
        kubeconfig: Whose rights it has.
        folder: Where its files and logs go.
        name: Apart from others that run beside it.
        port: Of its probes.
        checkout: Of which release it is.
        more: Further variables of its environment.
    """

    def __init__(  # noqa: PLR0913 - what makes one differ from another
        self,
        kubeconfig: Path,
        folder: Path,
        name: str = "observer",
        port: int = OBSERVER_PORT,
        checkout: Path = REPOSITORY,
        *,
        more: Mapping[str, str] | None = None,
    ) -> None:
        """Start nothing yet; its clocks are right."""
        self.clocks = folder / f"{name}.clocks"
        self._ahead = {"own": 0.0, "server": 0.0, "steady": 0.0}
        self._ledger = 0.0
        self._port = port
        program = checkout / "tests/support/stepped_observer.py"
        settings = {
            "PYTHONPATH": f"{checkout / 'images/observer'}:{checkout}",
            "KUBECONFIG": str(kubeconfig),
            "DEVCTL_PROBES_PORT": str(port),
            # As in a pod whose container the kubelet starts again: the next one is the heir.
            "POD_NAME": name,
            "POD_NAMESPACE": "devctl-system",
            "PYTHONUNBUFFERED": "1",
            **(more or {}),
        }
        super().__init__(
            [sys.executable, program, self.clocks], folder / f"{name}.log", os.environ | settings
        )
        self.set_clocks()

    @property
    def expected_ends(self) -> int:
        """How often it has lost its lease, which a slow disk is enough for."""
        return self._said("LeadershipLostError: ")

    def set_clocks(self, own: float = 0, server: float = 0) -> None:
        """By how many seconds its own clock, and the API server's as it hears of it, are ahead.

        It measures by another one, which nobody can set: no time passes. Returns when a process
        that runs has noticed that its own was set. To have right clocks again, one whose ledger
        is ahead is replaced: that clock goes on from what the process has once been told.
        """
        if not (own or server) and self.is_running and self._ledger:
            self.kill()
            self._set("", own=0, server=0)
            self.start()
            return
        step = own - self._ahead["own"]
        self._set(_SET if step else "", own=own, server=server)

    def pass_time(self, seconds: float) -> None:
        """Have all clocks go on at once: what was to happen in that time happens now.

        Returns when a process that runs has noticed.
        """
        assert seconds > 0, "no clock goes back by itself"
        self._set(_PASSED, **{name: ahead + seconds for name, ahead in self._ahead.items()})
        self._ledger += seconds

    @property
    def passed(self) -> float:
        """How many seconds have passed at once so far."""
        return self._ahead["steady"]

    def _set(self, notice: str, **ahead: float) -> None:
        """Set clocks, and wait until a process that runs has logged a notice of it, if any."""
        before = self._said(notice) if notice else 0
        self._ahead |= ahead
        new = self.clocks.with_suffix(".new")
        new.write_text(json.dumps(self._ahead))
        new.replace(self.clocks)
        if notice and self.is_running:
            self.await_so(lambda: self._said(notice) > before, f"it notices: {ahead}")

    def _said(self, notice: str) -> int:
        return self.log.read_text().count(notice) if self.log.exists() else 0

    def begin(self) -> None:
        """Start it, and wait for nothing."""
        self._ledger = self._ahead["server"]
        super().start()

    def start(self, leads: Callable[[], bool] | None = None) -> None:
        """Start it and wait until it answers, and leads if that is asked for."""
        self.begin()
        self.await_so(lambda: is_ready(self._port), "it is ready")
        if leads is not None:
            self.await_so(leads, "it leads")

    def figures(self) -> dict[str, float]:
        """What it counts."""
        return figures(self._port, "devctl_observer_")

    @property
    def identity(self) -> str:
        """Who it is where it leads: the last one that its log names."""
        return self.log.read_text().rpartition("leading as ")[2].partition("\n")[0]
