"""Text as reStructuredText: what Sphinx makes pages of, and docutils man pages."""

from __future__ import annotations

import re
from textwrap import indent

_SPECIAL = re.compile(r"([\\*_|`<>])")
_TICKED = re.compile(r"`([^`]+)`")


def text(words: str) -> str:
    r"""Prose in which backticks mark code and nothing else has a meaning.

    >>> text("names of `*.yaml` end in _x")
    'names of ``*.yaml`` end in \\_x'
    """
    parts = _TICKED.split(" ".join(words.split()))
    return "".join(
        literal(part) if number % 2 else _SPECIAL.sub(r"\\\1", part)
        for number, part in enumerate(parts)
    )


def literal(words: str) -> str:
    r"""Code in a line.

    >>> literal("a|b")
    '``a|b``'
    """
    return f"``{words.strip()}``"


def title(words: str, mark: str = "=") -> str:
    """A heading.

    >>> print(title("ab", "-"), end="")
    ab
    --
    """
    return f"{words}\n{mark * len(words)}\n"


def block(lines: str) -> str:
    """Lines as they are, in the font of a terminal."""
    return f"::\n\n{indent(lines, '   ')}\n"


def definition(term: str, *paragraphs: str) -> str:
    """A term, and below it what it means."""
    return term + "\n" + indent("\n\n".join(filter(None, paragraphs)), "   ") + "\n"
