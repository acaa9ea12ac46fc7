"""Whoever reads the text that people have jobs from, and types what it says."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pexpect
from support import given
from support.servers import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from support.command_line import CommandLine

URL = "https://example.com/image.jpg"
"""Where the text has its images from."""

_PROMPT = "[$#] "


@dataclass(frozen=True)
class Person:
    """Whoever reads the text and types what it says, in a folder with what it speaks of."""

    shell: CommandLine
    store: str
    """A URL that egpu reaches."""
    store_of_pods: str

    def types(self, line: str, code: int = 0, cwd: Path | None = None) -> str:
        """What a command prints, on both streams."""
        result = self.shell("-c", f"{line} 2>&1", cwd=cwd)
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

    def looks_at_the_result(self, shell: pexpect.spawn[bytes], inside: list[str]) -> None:
        """What the text has people type on the volume, in a shell that then ends."""
        show, list_all = inside
        shell.sendline(f"{show}; echo")
        shell.expect(r'\{\s*"model".*?\}\s*\]?[^{}]*\}')
        result = json.loads(shell.after)
        assert [*result] == re.findall(r'^  "(\w+)"', given.blocks("json")[0], re.MULTILINE)
        assert (result["model"], result["device"]) == ("resnet50", "cpu")
        assert len(result["top5"]) == 5
        assert {*result["top5"][0]} == {"label", "probability"}
        shell.sendline(list_all)
        shell.expect("output.json")
        shell.sendline("exit")
        shell.expect(pexpect.EOF)
        shell.close()

    def debugs(self, debug: str, enter: str, inside: list[str]) -> None:
        """A debug pod, and the shell in it that the text says how to get."""
        debugging = self.shell.start("-c", f"exec {debug}")
        assert debugging.stdout
        said = debugging.stdout.readline().decode().strip()
        name = re.escape(enter).replace("<timestamp>", r"\d+")
        assert re.fullmatch(name, said), said
        self.looks_at_the_result(self.sits_at(said), inside)
        debugging.terminate()
        debugging.communicate(timeout=60)
