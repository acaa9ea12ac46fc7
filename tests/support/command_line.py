"""`devctl` and `egpu` as a user types them: with their kubeconfig, in their folder."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pexpect

PROGRAM = Path(sys.executable).with_name("devctl")


@dataclass(frozen=True)
class CommandLine:
    """One user's shell.

    Attributes:
        kubeconfig: Their kubeconfig.
        namespace: Where they work.
        home: Their home folder on this machine, where devctl keeps its files.
        environment: Further variables.
        program: What they type.
    """

    kubeconfig: Path
    namespace: str
    home: Path
    environment: dict[str, str] = field(default_factory=dict)
    program: Path = PROGRAM

    @property
    def variables(self) -> dict[str, str]:
        """The whole environment of a command."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        own = {
            "HOME": str(self.home),
            "KUBECONFIG": str(self.kubeconfig),
            "DEVCTL_NAMESPACE": self.namespace,
            "PATH": f"{PROGRAM.parent}:{kept.get('PATH', '')}",
        }
        return kept | own | self.environment

    def __call__(
        self,
        *args: str,
        stdin: bytes | None = None,
        cwd: Path | None = None,
        timeout: float = 120,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run it without a terminal."""
        return subprocess.run(
            [self.program, *args],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            check=False,
            cwd=cwd or self.home,
            env=self.variables,
            timeout=timeout,
        )

    def must(self, *args: str, **options: Any) -> str:
        """The output of a command that has to succeed."""
        result = self(*args, **options)
        assert result.returncode == 0, (result.args, result.stdout[-2000:], result.stderr[-2000:])
        return result.stdout.decode()

    def fails(self, code: int, *args: str, **options: Any) -> str:
        """What a command that has to fail with a code says; never a traceback."""
        result = self(*args, **options)
        said = result.stderr.decode(errors="replace")
        assert result.returncode == code, (result.args, result.returncode, result.stdout, said)
        assert "Traceback" not in said
        return said

    def start(self, *args: str, cwd: Path | None = None) -> subprocess.Popen[bytes]:
        """Start it without a terminal and go on."""
        return subprocess.Popen(
            [self.program, *args],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd or self.home,
            env=self.variables,
        )

    def terminal(
        self, *args: str, columns: int = 100, timeout: float = 180, cwd: Path | None = None
    ) -> pexpect.spawn[bytes]:
        """Start it on a terminal of its own."""
        return pexpect.spawn(
            str(self.program),
            list(args),
            cwd=cwd or self.home,
            env={**self.variables, "TERM": "xterm"},
            dimensions=(30, columns),
            timeout=timeout,
        )
