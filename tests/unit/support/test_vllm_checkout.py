"""The checkouts that tests of runs make, and the two ways in which their files are listed."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from support.vllm_checkout import LISTS, PROJECT, change, git, new, parsed, pushed, sources, tree
from support.vllm_checkout import write as write_files

from devctl.client.checkout.capsule import pack
from devctl.client.checkout.changes import collect
from devctl.client.checkout.detect import detect

if TYPE_CHECKING:
    from pathlib import Path


def made(above: Path) -> Path:
    root = new(above / "checkout")
    write_files(root, {"pyproject.toml": PROJECT, "vllm/__init__.py": ""})
    sources(root)
    pushed(root, "http://git.example/vllm.git", above / "mirror.git")
    return root


def test_a_checkout_has_changes_of_every_kind(tmp_path: Path) -> None:
    root = made(tmp_path)
    before = tree(root)
    change(root)
    found = detect(root)
    assert found.is_vllm
    assert found.base == git(tmp_path / "mirror.git", "rev-parse", "main")
    assert found.unpushed == 1
    after, changes = tree(root), collect(found)
    assert {each.path for each in changes.all} == {
        path.decode()
        for path in before.keys() | after.keys()
        if before.get(path) != after.get(path)
    }
    assert changes.counts == {"modified": 7, "deleted": 4, "added": 10}
    assert pack(changes, tmp_path).small
    assert b"files/noise.log" not in after
    assert not any(path.startswith(b"sub/") for path in after)


def test_the_program_lists_what_is_listed_here(tmp_path: Path) -> None:
    root = made(tmp_path)
    change(root)
    git(root, "submodule", "--quiet", "deinit", "-f", "sub")
    (root / "files/noise.log").unlink()
    elsewhere = tmp_path / "elsewhere"
    (root / ".git").rename(elsewhere)
    line = [sys.executable, "-c", LISTS, str(root)]
    there = parsed(subprocess.run(line, check=True, capture_output=True, text=True).stdout)
    elsewhere.rename(root / ".git")
    assert there == tree(root)
