"""ansible-operator's request to ansible-runner: the command line and the folder of a run."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

# The operator writes this for every run; any other inventory goes to the stock runner.
INVENTORY = (
    "localhost ansible_connection=local ansible_python_interpreter={{ansible_playbook_python}}"
)
_SETTINGS = {"runner_http_url", "runner_http_path"}


class UnsupportedError(Exception):
    """The warm runner does not support this; the argument is a metric's label: one short word."""


class _CommandLine(argparse.ArgumentParser):
    """ansible-runner's command line, as far as ansible-operator uses it."""

    def __init__(self) -> None:
        super().__init__(add_help=False, allow_abbrev=False)
        self.add_argument("command", choices=["run"])
        self.add_argument("directory", type=Path)
        self.add_argument("-i", dest="ident", required=True)
        self.add_argument("--rotate-artifacts", dest="keep", type=int, default=0)
        what = self.add_mutually_exclusive_group(required=True)
        what.add_argument("--role", default="")
        what.add_argument("-p", dest="playbook", default="")
        self.add_argument("--roles-path", default="")
        self.add_argument("--hosts", default="all")
        self.add_argument("--role-skip-facts", dest="gather_facts", action="store_false")
        self.add_argument("-v", dest="verbosity", action="count", default=0)

    def error(self, message: str) -> NoReturn:  # noqa: ARG002 - the stock runner reports it
        raise UnsupportedError("arguments")


@dataclass(frozen=True)
class Run:
    """A run, as the command line describes it."""

    directory: Path
    ident: str
    keep: int = 0
    role: str = ""
    roles_path: str = ""
    hosts: str = "all"
    playbook: str = ""
    verbosity: int = 0
    gather_facts: bool = True

    @property
    def label(self) -> str:
        """Its label in metrics."""
        return self.role or Path(self.playbook).name

    @property
    def artifacts(self) -> Path:
        """The folder for the run's output."""
        return self.directory / "artifacts" / self.ident

    def play(self) -> list[dict[str, Any]]:
        """The play that ansible-runner creates for a role, without a task to validate arguments.

        The arguments come from an object that the API server has validated against its schema; in a
        role with one task, validation would double a run's time.
        """
        role = {"name": self.role, "rolespec_validate": False}
        tasks = [{"ansible.builtin.import_role": role}]
        return [{"hosts": self.hosts, "gather_facts": self.gather_facts, "tasks": tasks}]


def understand(message: bytes, own: Mapping[str, str]) -> tuple[Run, Inputs]:
    """The run that a client requests.

    Raises:
        UnsupportedError: The stock runner must do it.
        ValueError: The message is not one of client.request's.
        IndexError: Likewise.
        OSError: The run's folder cannot be read.
    """
    argv, cwd, environment = split(message)
    run = parse(argv, cwd)
    return run, read_inputs(run, environment, own)


def split(message: bytes) -> tuple[list[str], str, dict[str, str]]:
    """A client's arguments, folder and environment.

    Raises:
        ValueError: The message is not one of client.request's.
        IndexError: Likewise.
    """
    count, *words = [os.fsdecode(word) for word in message.split(b"\0")]
    number = int(count)
    pairs = (word.partition("=") for word in words[number + 1 :])
    return words[:number], words[number], {name: value for name, _, value in pairs}


def parse(argv: Sequence[str], cwd: str) -> Run:
    """The run that a command line describes.

    Raises:
        UnsupportedError: It is not a command line of ansible-operator.
    """
    values = vars(_CommandLine().parse_args(argv))
    del values["command"]
    run = Run(**values | {"directory": Path(cwd, values["directory"])})
    whole = run.roles_path if run.role else run.playbook
    if not whole or run.keep < 0 or "/" in run.ident or run.ident in {"", ".", ".."}:
        raise UnsupportedError("arguments")
    return replace(run, roles_path=str(Path(cwd, run.roles_path))) if run.role else run


@dataclass(frozen=True)
class Inputs:
    """The contents of a run's folder, except the extra variables."""

    event_socket: str
    event_path: str
    environment: Mapping[str, str]


def read_inputs(run: Run, env: Mapping[str, str], own: Mapping[str, str]) -> Inputs:
    """Read a run's folder; `env` is the client's environment, `own` the daemon's initial one.

    Raises:
        UnsupportedError: Something in it requires the stock runner.
    """
    folder = run.directory / "env"
    if any((folder / name).exists() for name in ("passwords", "ssh_key")):
        raise UnsupportedError("credentials")
    if (folder / "cmdline").exists() and (folder / "cmdline").read_text().strip():
        raise UnsupportedError("cmdline")
    settings = _mapping(folder / "settings")
    environment = {**env, **{k: str(v) for k, v in _mapping(folder / "envvars").items()}}
    # Ansible read its settings when the daemon imported it.
    if _ansible(environment) != _ansible(own):
        raise UnsupportedError("environment")
    hosts = run.directory / "inventory"
    names = [path.name for path in hosts.iterdir()]
    if names != ["hosts"] or (hosts / "hosts").read_text().strip() != INVENTORY:
        raise UnsupportedError("inventory")
    address = environment.get("RUNNER_HTTP_URL") or str(settings.get("runner_http_url", ""))
    if set(settings) - _SETTINGS or not Path(address).is_socket():
        raise UnsupportedError("settings")
    path = environment.get("RUNNER_HTTP_PATH") or str(settings.get("runner_http_path", "/"))
    return Inputs(address, path, environment)


def _mapping(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise UnsupportedError("format") from error
    if not isinstance(found, dict):
        raise UnsupportedError("format")
    return found


def _ansible(environment: Mapping[str, str]) -> dict[str, str]:
    return {k: v for k, v in environment.items() if k.startswith("ANSIBLE_")}
