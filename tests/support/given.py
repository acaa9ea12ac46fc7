"""The text that people have jobs from: its commands and manifests, word for word."""

from __future__ import annotations

import re

from devctl.local.paths import REPOSITORY

DOCUMENT = REPOSITORY / "tests/support/texts/jobs.md"
HASH = "e0a786f3a3c6962680f0cd561361326b20fa284d9cafb845bfc32966046a3262"
"""SHA-256 of the text: nobody makes it easier to keep."""

named: set[str] = set()
"""The commands that somebody has asked for."""


def blocks(language: str) -> list[str]:
    """The contents of its fenced blocks of a language."""
    return re.findall(
        rf"^```{language}\n(.*?)^```$", DOCUMENT.read_text(), re.DOTALL | re.MULTILINE
    )


def commands() -> list[str]:
    """Each command once, without the remark behind it; those of `# Then: ...` too."""
    found: dict[str, None] = {}
    for block in blocks("bash"):
        waiting = ""
        for line in re.sub(
            r"^NAME .*?\n\n", "", block, flags=re.DOTALL | re.MULTILINE
        ).splitlines():
            words = re.sub(r"^# (Then|Or): ", "", line)
            if not waiting and (not words.strip() or words.startswith("#")):
                continue
            waiting += f"{words}\n"
            if not words.endswith("\\") and waiting.count("'") % 2 == 0:
                found[re.sub(r" +# [^\n]*$", "", waiting.rstrip())] = None
                waiting = ""
    return list(found)


def command(start: str) -> str:
    """The one command that begins like this."""
    found = [line for line in commands() if line == start] or [
        line for line in commands() if line.startswith(start)
    ]
    assert len(found) == 1, (start, found)
    named.update(found)
    return found[0]
