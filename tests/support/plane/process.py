"""A program of the plane's: started, frozen, killed, started again."""

from __future__ import annotations

import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path


@dataclass
class Process:
    """One program.

    Attributes:
        argv: What it is started with.
        log: Where its output goes, all starts one after the other.
        env: Its whole environment; None for the tests' own.
    """

    argv: Sequence[str | Path]
    log: Path
    env: Mapping[str, str] | None = None
    _running: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def name(self) -> str:
        """Its name, in messages."""
        return self.log.stem

    @property
    def is_running(self) -> bool:
        """Whether it has been started and has not ended."""
        return self._running is not None and self._running.poll() is None

    @property
    def status(self) -> int | None:
        """The exit status of its last run, negative for a signal; None without one."""
        return None if self._running is None else self._running.poll()

    @property
    def expected_ends(self) -> int:
        """How often it has ended by itself for an accepted reason."""
        return 0

    @property
    def pid(self) -> int:
        """Its number, once it has been started."""
        assert self._running is not None
        return self._running.pid

    def start(self) -> None:
        """Start it; it ends with the thread that started it, whatever becomes of the tests."""
        with self.log.open("ab") as log:
            self._running = subprocess.Popen(
                ["setpriv", "--pdeathsig=KILL", "--", *self.argv],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self.env,
                start_new_session=True,
            )

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it runs."""
        if self._running is not None:
            with suppress(ProcessLookupError):
                self._running.send_signal(number)

    def freeze(self) -> None:
        """Let it do nothing until it is thawed."""
        self.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen one go on."""
        self.signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kill it, and wait for its end."""
        self.signal(signal.SIGKILL)
        self._wait()

    def stop(self) -> None:
        """End it in order; kill it where it does not."""
        self.signal(signal.SIGTERM)
        try:
            self._wait(20)
        except subprocess.TimeoutExpired:
            self.kill()

    def _wait(self, seconds: float = 60) -> None:
        if self._running is not None:
            self._running.wait(seconds)

    def await_so(self, true: Callable[[], bool], what: str, seconds: float = 60) -> None:
        """Wait until something is so, which takes this process to be alive.

        Raises:
            AssertionError: It ended, or it is not so in time; with the end of its log.
        """
        deadline = time.monotonic() + seconds
        while not true():
            ended = not self.is_running
            if ended or time.monotonic() > deadline:
                why = "it ended" if ended else f"not within {seconds:.0f} s"
                raise AssertionError(f"{self.name}: {what}: {why}\n{self.tail()}")
            time.sleep(0.05)

    def tail(self, length: int = 4000) -> str:
        """The end of its log."""
        return self.log.read_text(errors="replace")[-length:] if self.log.exists() else ""
