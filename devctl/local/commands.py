"""Running other programs, with their output in a log and its last line in errors."""

from __future__ import annotations

import subprocess
from typing import IO, TYPE_CHECKING, Any

from devctl.errors import StepError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

# What apt, pip and Go print if a registry cannot be reached.
_NO_NETWORK = (
    "Temporary failure resolving",
    "Could not resolve",
    "Failed to establish a new connection",
    "no such host",
    "connection refused",
    "network is unreachable",
    "i/o timeout",
)


def run_logged(
    argv: Sequence[str | Path],
    log: Path,
    *,
    what: str,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> None:
    """Run a program, appending everything that it prints to `log`.

    `what` is its purpose, for errors, such as "build the programs"; `env` its whole environment.

    Raises:
        StepError: It is missing or failed; names the log and quotes its last line.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as sink:
        sink.write(f"$ {' '.join(str(a) for a in argv)}\n".encode())
        sink.flush()
        start = sink.tell()
        result = _run(
            argv, what, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, env=env, cwd=cwd
        )
    if result.returncode:
        raise StepError(*explain(what, result.returncode, _tail(log, start), log))


def capture(
    argv: Sequence[str | Path],
    *,
    what: str,
    input_text: str | None = None,
    stdin: IO[bytes] | None = None,
    env: Mapping[str, str] | None = None,
) -> str:
    """Run a program and return what it prints; raises StepError as `run_logged` does."""
    result = _run(
        argv, what, input=input_text, stdin=stdin, env=env, capture_output=True, text=True
    )
    if result.returncode:
        raise StepError(*explain(what, result.returncode, result.stderr, None))
    return result.stdout


def _run(argv: Sequence[str | Path], what: str, **options: Any) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(argv, check=False, **options)
    except FileNotFoundError as error:
        raise StepError(f"cannot {what}: no program `{argv[0]}`", "install it") from error


def explain(what: str, code: int, output: str, log: Path | None) -> tuple[str, str]:
    """The error and what to do, from the output of a program that failed."""
    where = f"; log: {log}" if log else ""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for line in lines:
        if any(sign.lower() in line.lower() for sign in _NO_NETWORK):
            return (
                f"cannot {what}: no network: {line}",
                f"check the network, then run it again{where}",
            )
    last = lines[-1] if lines else f"exit code {code}"
    return f"cannot {what}: {last}", f"read the log{where}" if log else ""


def _tail(log: Path, start: int, size: int = 8192) -> str:
    with log.open("rb") as file:
        file.seek(max(start, log.stat().st_size - size))
        return file.read().decode(errors="replace")
