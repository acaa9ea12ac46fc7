"""Whoever types the commands of `job_interface`, in a folder with what they speak of."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pexpect
from support.job_interface import INSIDE, RANKED, RESULT, TIMESTAMP, URL
from support.servers import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from support.command_line import CommandLine

_PROMPT = "[$#] "
_PATIENCE = 300.0
"""Seconds for a command: some wait for a volume, a pod and the files in it."""


@dataclass(frozen=True)
class Person:
    """Somebody at a shell, and what they can fetch."""

    shell: CommandLine
    store: str
    """A URL that egpu reaches."""
    store_of_pods: str

    def types(self, line: str, code: int = 0, cwd: Path | None = None) -> str:
        """What a command prints, on both streams."""
        result = self.shell("-c", f"{line} 2>&1", cwd=cwd, timeout=_PATIENCE)
        said = result.stdout.decode()
        assert result.returncode == code, (line, result.returncode, said)
        assert "Traceback" not in said
        return said

    def finds(self, line: str, pattern: str) -> None:
        """Wait until a command prints it: a program that has begun speaks a moment later."""
        found = re.compile(pattern, re.DOTALL)
        wait_until(lambda: found.search(self.types(line)) is not None, f"`{line}` has {pattern}")

    def there(self, kind: str, *names: str) -> str:
        """Which of these objects there are."""
        return self.types(f"kubectl get {kind} --ignore-not-found -o name {' '.join(names)}")

    def fetches(self, line: str, file: str = "image.jpg", target: str = "") -> str:
        """A `copy-file`, of a file of the store."""
        line = line.replace(URL, f"{self.store}/{file} --allow-private")
        return self.types(line.replace("input.jpg", target or "input.jpg"))

    def follows(self, line: str, text: str) -> None:
        """A command that goes on for ever, until it says something; then Ctrl-C."""
        with self.shell.terminal("-c", line) as follower:
            follower.expect(text)
            follower.sendintr()

    def sits_at(self, line: str) -> pexpect.spawn[bytes]:
        """A shell on a terminal, at its prompt."""
        shell = self.shell.terminal("-c", line, columns=200)
        shell.sendline("")
        shell.expect(_PROMPT)
        return shell

    def looks_at_the_result(self, shell: pexpect.spawn[bytes]) -> None:
        """What people type on the volume, in a shell that then ends."""
        shell.sendline(f"{INSIDE['show']}; echo")
        shell.expect(r'\{\s*"model".*?\}\s*\]?[^{}]*\}')
        result = json.loads(shell.after)
        assert (*result,) == RESULT
        assert (result["model"], result["device"]) == ("resnet50", "cpu")
        assert len(result["top5"]) == 5
        assert {*result["top5"][0]} == {*RANKED}
        shell.sendline(INSIDE["files"])
        shell.expect("output.json")
        shell.sendline("exit")
        shell.expect(pexpect.EOF)
        shell.close()

    def debugs(self, debug: str, enter: str) -> None:
        """A debug pod, and the shell in it by the command that it prints."""
        debugging = self.shell.start("-c", f"exec {debug}")
        assert debugging.stdout
        said = debugging.stdout.readline().decode().strip()
        name = re.escape(enter).replace(TIMESTAMP, r"\d+")
        assert re.fullmatch(name, said), said
        self.looks_at_the_result(self.sits_at(said))
        debugging.terminate()
        debugging.communicate(timeout=300)
