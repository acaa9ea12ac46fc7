"""The escapes that are tried, and those that the documentation lists."""

from __future__ import annotations

import re

from support.escapes import ESCAPES, TOPICS
from support.escapes.network import UNREACHED

from devctl.local.paths import REPOSITORY

ROW = re.compile(r"^\| (.+?) \| (`+) ?(.+?) ?\2 \|$", re.MULTILINE)


def test_the_documentation_lists_each_with_its_refusal() -> None:
    text = (REPOSITORY / "docs/tenancy.md").read_text()
    sections = dict(part.split("\n", 1) for part in text.split("\n### ")[1:])
    for topic, group in TOPICS.items():
        rows = [(name, said) for name, _, said in ROW.findall(sections[topic])]
        assert rows == [(escape.name, escape.said) for escape in group]
    assert all(f"| {name} | no connection |" in text for name in UNREACHED)


def test_they_are_many_and_told_apart() -> None:
    names = [escape.name for escape in ESCAPES]
    assert len(set(names)) == len(names) >= 40
