"""Every command that the documentation shows can be typed."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner

from devctl.cli.egpu.group import egpu
from devctl.cli.main import cli
from devctl.cli.vllm.group import k8shazgpu
from devctl.errors import UsageError
from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROGRAMS: dict[str, click.Command] = {
    "devctl": cli,
    "egpu": egpu,
    "k8shazgpu": k8shazgpu,
}
FENCED = re.compile(r"^```([a-z{}-]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`((?:devctl|egpu|k8shazgpu) [^`]+)`")
OTHERS = {"|", ">", ">>", "<", ";", "&&", "||", "&"}
"""What ends a command in a shell's line."""
SHORT = (click.MissingParameter, click.BadOptionUsage, click.exceptions.NoArgsIsHelpError)
"""What click says of a command that lacks a word."""
DOCUMENTS = sorted([REPOSITORY / "README.md", *(REPOSITORY / "docs").glob("*.md")])


def fenced(text: str) -> Iterator[str]:
    """The lines of blocks that begin with one of our programs."""
    for language, block in FENCED.findall(text):
        if language.startswith("{"):
            continue  # a directive of Sphinx
        for line in block.replace("\\\n", " ").splitlines():
            words = line.strip().removeprefix("$ ")
            # In a drawing, `/` stands between two programs.
            if words.partition(" ")[0] in PROGRAMS and " / " not in words:
                yield words


def words_of(line: str) -> list[str]:
    """The words of the one command, without comments and what a shell does with its output."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|>;&<")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    words = list(lexer)
    end = next((number for number, word in enumerate(words) if word in OTHERS), len(words))
    return words[:end]


def complaint(words: list[str]) -> BaseException | None:
    """What is wrong with a command line; nothing is run."""
    program, *arguments = words
    result = CliRunner().invoke(PROGRAMS[program], arguments, standalone_mode=False)
    return result.exception


@pytest.fixture(autouse=True)
def parsed_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Commands are read and not run; files that are named need not be there."""
    monkeypatch.setattr(click.Command, "invoke", lambda _self, _context: None)
    monkeypatch.setattr(click.Path, "convert", lambda _self, value, _parameter, _context: value)
    monkeypatch.setattr(click.File, "convert", lambda _self, value, _parameter, _context: value)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_commands_in_blocks_are_whole(path: Path) -> None:
    for line in fenced(path.read_text()):
        assert complaint(words_of(line)) is None, line


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_commands_in_sentences_exist(path: Path) -> None:
    outside = FENCED.sub("", path.read_text())
    for line in (" ".join(found.split()) for found in INLINE.findall(outside)):
        words = words_of(line)
        if words[1].isupper():
            continue  # a placeholder
        found = complaint(words)
        # A command may be spoken of without all that it takes.
        assert found is None or isinstance(found, SHORT), line


def test_a_wrong_command_is_noticed() -> None:
    assert isinstance(complaint(["devctl", "lst"]), UsageError)
    assert isinstance(complaint(["devctl", "list", "--nothing"]), click.NoSuchOption)
    assert isinstance(complaint(["devctl", "describe"]), click.MissingParameter)
    assert complaint(words_of("devctl logs lab -f | less # read it")) is None
