"""Patterns of files as `.gitignore` has them, for folders that git knows nothing of."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple


class Pattern(NamedTuple):
    """One line of a file of patterns."""

    regex: re.Pattern[str]
    negated: bool
    """What it matches is taken after all."""
    folders_only: bool


def parse(text: str) -> list[Pattern]:
    """The patterns of a file, in their order.

    >>> [bool(p.regex.fullmatch("a/b.pyc")) for p in parse("*.pyc")]
    [True]
    """
    # Only a line feed ends a line: names may hold all that Python takes for line ends.
    found = (_pattern(line.removesuffix("\r")) for line in text.split("\n"))
    return [pattern for pattern in found if pattern is not None]


def ignored(patterns: list[Pattern], path: str, *, folder: bool) -> bool | None:
    """What patterns say of a path below their folder; None where they say nothing.

    >>> ignored(parse("*.log"), "a/run.log", folder=False)
    True
    """
    for pattern in reversed(patterns):
        if (folder or not pattern.folders_only) and pattern.regex.fullmatch(path):
            return not pattern.negated
    return None


@lru_cache(maxsize=4096)
def _pattern(line: str) -> Pattern | None:
    line = _without_trailing_spaces(line)
    if not line or line.startswith("#"):
        return None
    negated = line.startswith("!")
    line = line.removeprefix("!") if negated else line
    folders_only = line.endswith("/")
    line = line.removesuffix("/") if folders_only else line
    anchored = "/" in line
    line = line.removeprefix("/")
    if not line:
        return None
    body = _translate(line)
    if body is None:
        return None
    front = "" if anchored else "(?:.*/)?"
    return Pattern(re.compile(f"(?s:{front}{body})"), negated, folders_only)


def _without_trailing_spaces(line: str) -> str:
    while line.endswith(" "):
        if line.endswith("\\ ") and (len(line) - len(line[:-1].rstrip("\\"))) % 2 == 0:
            break
        line = line[:-1]
    return line


def _translate(line: str) -> str | None:
    """A regular expression for a pattern; None where it matches nothing at all."""
    out, at = [], 0
    while at < len(line):
        letter = line[at]
        if letter == "*":
            piece, at = _stars(line, at)
        elif letter == "[":
            found = _bracket(line, at)
            if found is None:
                return None
            piece, at = found
        elif letter == "\\":
            if at + 1 == len(line):
                return None
            piece, at = re.escape(line[at + 1]), at + 2
        else:
            piece, at = "[^/]" if letter == "?" else re.escape(letter), at + 1
        out.append(piece)
    return "".join(out)


def _stars(line: str, at: int) -> tuple[str, int]:
    end = at
    while end < len(line) and line[end] == "*":
        end += 1
    alone = end - at == 2 and (at == 0 or line[at - 1] == "/")  # noqa: PLR2004 - `**`
    if alone and line[end : end + 1] == "/":
        return "(?:.*/)?", end + 1
    if alone and end == len(line):
        return ".*" if at == 0 else ".+", end
    return "[^/]*", end


_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "digit": "0-9",
    "lower": "a-z",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\s",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}


def _bracket(line: str, at: int) -> tuple[str, int] | None:
    """A set of letters, and what follows it; None where it is not closed or makes no sense."""
    at += 1
    negated = line[at : at + 1] in {"!", "^"}
    at += negated
    items: list[str] = []
    first = True
    while first or line[at : at + 1] != "]":
        first = False
        if at >= len(line):
            return None
        if line.startswith("[:", at) and (end := line.find(":]", at + 2)) > 0:
            if line[at + 2 : end] not in _CLASSES:
                return None
            items.append(_CLASSES[line[at + 2 : end]])
            at = end + 2
            continue
        low, at = _letter(line, at)
        high = low
        if line[at : at + 1] == "-" and line[at + 1 : at + 2] not in {"]", ""}:
            high, at = _letter(line, at + 1)
        if not low or not high:
            return None
        if low <= high:
            items.append(f"{re.escape(low)}-{re.escape(high)}")
    inside = "".join(items)
    if negated:
        return (f"[^/{inside}]", at + 1)
    return (f"(?!/)[{inside}]" if inside else "(?!)", at + 1)


def _letter(line: str, at: int) -> tuple[str, int]:
    if line[at] == "\\":
        return line[at + 1 : at + 2], at + 2
    return line[at], at + 1
