"""Runs, in a process that was forked from the warm one: more than one if they leave nothing."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from uuid import uuid4

from devctl_runner import paths
from devctl_runner.entry import UNABLE, understand
from devctl_runner.events import Recorder
from devctl_runner.in_process import forget, is_unspoilt
from devctl_runner.pool import DONE
from devctl_runner.poster import Poster
from devctl_runner.processes import die_with_parent

if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping

    from devctl_runner.entry import Job
    from devctl_runner.events import Progress
    from devctl_runner.protocol import Inputs, Run
    from devctl_runner.warm import Warm

# A process that has done so many makes room for a new one, whatever its memory has come to.
_MOST_RUNS = 50


def serve(first: Job, warm: Warm, own: Mapping[str, str], channel: socket.socket) -> NoReturn:
    """Do a run, and those that come after it over the channel; then end this process."""
    status = UNABLE
    progress = first.progress
    try:
        detach()
        message = first.message
        for more in reversed(range(_MOST_RUNS)):
            status = UNABLE
            one, inputs = understand(message, own)
            forget()
            status = run(one, inputs, warm, progress)
            if status or not more or not one.role or not is_unspoilt():
                break
            channel.send(DONE)
            message = channel.recv(paths.MESSAGE_BYTES)
            if not message:
                break
    except BaseException:  # noqa: BLE001 - nothing may return into the daemon's loop
        traceback.print_exc(file=sys.__stderr__)
        status = 1 if progress.posted else UNABLE
    finally:
        # Ansible's exit hooks would delete a folder that all runs share.
        os._exit(status)


def run(run: Run, inputs: Inputs, warm: Warm, progress: Progress) -> int:
    """Do a run; returns the exit status of ansible-playbook."""
    folder = prepare(run)
    with (folder / "stdout").open("w", encoding="utf-8") as file:
        # What a crash prints; the daemon's own output is the pod's log.
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        variables = enter(run, inputs, warm)
        post = Poster(inputs.event_socket, inputs.event_path)
        with contextlib.closing(post):
            status = play(run, warm, variables, Recorder(file, post, progress, _encoder()))
    (folder / "rc").write_text(str(status), encoding="ascii")
    (folder / "status").write_text("failed" if status else "successful", encoding="ascii")
    return status


def detach() -> None:
    """Forget what belongs to the daemon."""
    die_with_parent()
    os.setsid()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    # All runs would draw the same numbers.
    random.seed()
    with open(os.devnull, encoding="ascii") as null:  # noqa: PTH123
        os.dup2(null.fileno(), 0)


def prepare(run: Run) -> Path:
    """Make the artifacts folder and remove the oldest ones over the limit."""
    folder = run.artifacts
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if run.keep:
        # `latest` is the operator's link, not a run.
        others = [p for p in folder.parent.iterdir() if p.is_dir() and not p.is_symlink()]
        others.sort(key=lambda path: path.stat().st_mtime_ns)
        for old in others[: -run.keep]:
            shutil.rmtree(old, ignore_errors=True)
    return folder


def enter(run: Run, inputs: Inputs, warm: Warm) -> Any:
    """Take on the run's environment and folder; returns its variables, with nobody else's facts."""
    from ansible import constants, context  # noqa: PLC0415 - imported by warm_up
    from ansible.utils import vars as ansible_vars  # noqa: PLC0415
    from ansible.utils.context_objects import CLIArgs  # noqa: PLC0415
    from ansible.utils.display import Display  # noqa: PLC0415
    from ansible.vars.manager import VariableManager  # noqa: PLC0415

    os.environ.clear()
    os.environ.update({**inputs.environment, **warm.settings})
    if run.role:
        os.environ["ANSIBLE_ROLES_PATH"] = run.roles_path
        constants.DEFAULT_ROLES_PATH = [run.roles_path]
    project = run.directory / "project"
    project.mkdir(exist_ok=True)
    os.chdir(project)
    display = Display()
    display.verbosity = run.verbosity
    # Each of these shows a text once; the throwaway run is not to use that up.
    for shown in (display._warns, display._deprecations, display._errors):  # noqa: SLF001
        shown.clear()
    # Unique names for plays and tasks: a counter after a random part that was drawn at import.
    ansible_vars.node_mac = uuid4().hex[:12]
    # It keeps what it has read by path, and the last run of this object had the same path.
    warm.loader._FILE_CACHE = dict(warm.files)  # noqa: SLF001
    # Ansible's own loader: it alone knows unsafe marks and what may be a template.
    file = run.directory / "env" / "extravars"
    changed = {"extra_vars": (f"@{file}",) if file.exists() else (), "verbosity": run.verbosity}
    context.CLIARGS = CLIArgs({**context.CLIARGS, **changed})
    ansible_vars.load_extra_vars.extra_vars = None
    variables = VariableManager(warm.loader, warm.inventory, warm.version)
    variables._options_vars |= {"ansible_verbosity": run.verbosity}  # noqa: SLF001
    return variables


def play(run: Run, warm: Warm, variables: Any, recorder: Recorder) -> int:
    """Run the role or playbook; returns the exit status of ansible-playbook."""
    from ansible.errors import AnsibleError  # noqa: PLC0415 - imported by warm_up
    from ansible.executor.playbook_executor import PlaybookExecutor  # noqa: PLC0415
    from ansible.plugins.loader import add_all_plugin_dirs  # noqa: PLC0415
    from ansible.utils.display import Display  # noqa: PLC0415

    events = sys.modules["ansible.plugins.callback.awx_display"].event_context
    events.dump_begin = lambda _: recorder.begin(events.get_begin_dict())
    events.dump_end = lambda _: recorder.end()
    sys.stdout = sys.stderr = recorder
    playbook = Path(run.playbook)
    if run.role:
        playbook = run.directory / "project" / uuid4().hex
        playbook.write_text(json.dumps(run.play()), encoding="utf-8")
    else:
        add_all_plugin_dirs(os.fsencode(playbook.resolve().parent))
    try:
        arguments: Any = (warm.inventory, variables, warm.loader, {})
        return int(PlaybookExecutor([str(playbook)], *arguments).run())
    except AnsibleError as error:
        Display().error(error)
        return int(error._exit_code)  # noqa: SLF001 - as in Ansible's own command line
    finally:
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
        if run.role:
            with contextlib.suppress(OSError):
                playbook.unlink()


def _encoder() -> Any:
    from ansible.plugins.loader import callback_loader  # noqa: PLC0415 - imported by warm_up

    callback_loader.get("awx_display", class_only=True)
    return sys.modules["ansible.plugins.callback.awx_display"].AnsibleJSONEncoderLocal
