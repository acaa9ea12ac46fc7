"""Programs that the agent runs, which are watched while they run."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from devctl_cache_agent.problems import CacheError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_KEPT = 1 << 16
_LOOK = 1.0


class Result(NamedTuple):
    """How a program ended."""

    code: int
    output: bytes
    said: bytes
    """The end of its stderr."""


def run(
    argv: Sequence[str],
    environment: Mapping[str, str],
    *,
    seconds: float,
    user: int | None = None,
    look: Callable[[bytes], None] = lambda _said: None,
) -> Result:
    """Run a program; neither it nor its children outlive this call.

    Args:
        argv: The program and its arguments.
        environment: All of its environment.
        seconds: How long it may take.
        user: Who runs it, if that is not the agent's own user.
        look: Called each second with the end of its stderr; what it raises ends the program.

    Raises:
        CacheError: It took too long, or is not installed.
    """
    try:
        process = subprocess.Popen(
            list(argv),
            env=dict(environment),
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            user=user,
            group=user,
            extra_groups=None if user is None else [],
        )
    except FileNotFoundError as error:
        raise CacheError(f"`{argv[0]}` is not installed") from error
    with process:
        try:
            output, said = _collect(process, time.monotonic() + seconds, look)
        finally:
            # Also its children, such as ssh.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        return Result(process.wait(), output, said)


def _collect(
    process: subprocess.Popen[bytes], deadline: float, look: Callable[[bytes], None]
) -> tuple[bytes, bytes]:
    found = {"output": b"", "said": b""}
    looked = time.monotonic()
    with selectors.DefaultSelector() as selector:
        for name, pipe in (("output", process.stdout), ("said", process.stderr)):
            if pipe:
                selector.register(pipe, selectors.EVENT_READ, name)
        while selector.get_map():
            for key, _ in selector.select(_LOOK):
                piece = os.read(key.fd, 1 << 16)
                if not piece:
                    selector.unregister(key.fileobj)
                found[key.data] = (found[key.data] + piece)[-_KEPT:]
            now = time.monotonic()
            if now > deadline:
                raise CacheError("it took too long")
            if now >= looked + _LOOK:
                look(found["said"])
                looked = now
    return found["output"], found["said"]
