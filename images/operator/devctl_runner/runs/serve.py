"""Executes runs in a process forked from the warm one: several, if they leave nothing behind."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import random
import shutil
import signal
import socket
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from uuid import uuid4

from devctl_runner import paths
from devctl_runner.runs.events import Poster, Progress, Recorder
from devctl_runner.runs.request import Inputs, Run, understand
from devctl_runner.runs.warm import Warm

if TYPE_CHECKING:
    from devctl_runner.runs.ansible_internals import Ansible


# After this many runs, a process is replaced, which bounds its memory.
_MOST_RUNS = 50

DONE = b"done"
"""The message that such a process can take another run."""

UNABLE = 250
"""Exit status of a run that failed before its first event, through no fault of the role."""

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def serve(
    message: bytes, progress: Progress, warm: Warm, own: Mapping[str, str], channel: socket.socket
) -> NoReturn:
    """Do a run, and those that arrive over the channel; then end this process.

    Args:
        message: A client's request.
        progress: Where the daemon reads a run's progress.
        warm: What runs inherit.
        own: The environment that the daemon started with.
        channel: The channel to the daemon.
    """
    status = UNABLE
    try:
        detach()
        for more in reversed(range(_MOST_RUNS)):
            status = UNABLE
            one, inputs = understand(message, own)
            status = run(one, inputs, warm, progress)
            if status or not more or not one.role or warm.ansible.forked:
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
        # For the output of a crash; the daemon's own output is the pod's log.
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        enter(run, inputs, warm)
        encoder = warm.ansible.callback.AnsibleJSONEncoderLocal
        post = Poster(inputs.event_socket, inputs.event_path)
        with contextlib.closing(post):
            status = play(run, warm.ansible, Recorder(file, post, progress, encoder))
    (folder / "rc").write_text(str(status), encoding="ascii")
    (folder / "status").write_text("failed" if status else "successful", encoding="ascii")
    return status


def detach() -> None:
    """Detach this process from the daemon's session, signals, input and random numbers."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # it ends with the daemon
    os.setsid()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    # Otherwise all runs would draw the same numbers.
    random.seed()
    with open(os.devnull, encoding="ascii") as null:  # noqa: PTH123
        os.dup2(null.fileno(), 0)


def prepare(run: Run) -> Path:
    """Create the artifacts folder, and remove the oldest ones over the limit."""
    folder = run.artifacts
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if run.keep:
        # `latest` is the operator's link, not a run.
        others = [p for p in folder.parent.iterdir() if p.is_dir() and not p.is_symlink()]
        others.sort(key=lambda path: path.stat().st_mtime_ns)
        for old in others[: -run.keep]:
            shutil.rmtree(old, ignore_errors=True)
    return folder


def enter(run: Run, inputs: Inputs, warm: Warm) -> None:
    """Switch to the run's environment, folder and variables."""
    os.environ.clear()
    os.environ.update({**inputs.environment, **warm.settings})
    if run.role:
        os.environ["ANSIBLE_ROLES_PATH"] = run.roles_path
    project = run.directory / "project"
    project.mkdir(exist_ok=True)
    os.chdir(project)
    extra = run.directory / "env" / "extravars"
    warm.ansible.begin_run(
        extra=extra if extra.exists() else None,
        roles_path=run.roles_path if run.role else "",
        verbosity=run.verbosity,
    )


def play(run: Run, ansible: Ansible, recorder: Recorder) -> int:
    """Run the role or playbook; returns the exit status of ansible-playbook."""
    events = ansible.callback.event_context
    events.dump_begin = lambda _: recorder.begin(events.get_begin_dict())
    events.dump_end = lambda _: recorder.end()
    with contextlib.redirect_stdout(recorder), contextlib.redirect_stderr(recorder):
        if not run.role:
            ansible.add_plugins_beside(Path(run.playbook))
            return ansible.run_playbook(Path(run.playbook))
        playbook = run.directory / "project" / uuid4().hex
        playbook.write_text(json.dumps(run.play()), encoding="utf-8")
        try:
            return ansible.run_playbook(playbook)
        finally:
            playbook.unlink(missing_ok=True)
