"""What a run has of the checkout in which it is started: no change of it is lost in silence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.vllm_checkout import commit, new, write

from devctl.client.checkout.vllm import IMAGE
from devctl.client.vllm.from_checkout import FromCheckout, find_checkout, stays
from devctl.errors import UsageError
from unit.client.checkout_things import push

if TYPE_CHECKING:
    from pathlib import Path

VLLM = {"pyproject.toml": '[project]\nname = "vllm"\n', "vllm/__init__.py": ""}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout of vLLM's main branch."""
    root = new(tmp_path / "vllm")
    write(root, VLLM)
    commit(root)
    push(root, "upstream")
    return root


def from_checkout(folder: Path) -> FromCheckout | None:
    checkout = find_checkout(folder)
    return stays(checkout) if checkout else None


def test_there_need_not_be_any(tmp_path: Path) -> None:
    assert from_checkout(tmp_path) is None
    other = new(tmp_path / "other")
    # Not even one that cannot be read.
    assert from_checkout(other) is None
    write(other, {"a": "b"})
    commit(other)
    assert from_checkout(other) is None


def test_one_that_cannot_be_read_is_not_taken_for_none(tmp_path: Path) -> None:
    write(new(tmp_path / "vllm"), VLLM)
    with pytest.raises(UsageError, match="has no commits yet"):
        from_checkout(tmp_path / "vllm" / "vllm")


def test_an_unchanged_one_has_an_image_and_loses_nothing(root: Path) -> None:
    found = from_checkout(root / "vllm")
    assert found
    assert found.image == IMAGE.format(commit=found.checkout.commit)
    assert found.lost == ""
    assert "vLLM checkout:" in found.summary()
    assert "Local changes: none" in found.summary()


def test_all_that_the_image_lacks_is_named(root: Path) -> None:
    write(root, {"vllm/new.py": "x", ".env": "PASSWORD=x"})
    (root / "pyproject.toml").write_text('[project]\nname = "vllm"\nversion = "2"\n')
    found = from_checkout(root)
    assert found
    assert found.lost == "changed files (1 modified, 2 added)"
    commit(root)
    push(root, "origin")
    found = from_checkout(root)
    # Pushed to a fork, and yet not in the image of the merge base.
    assert found
    assert found.lost == "1 commit"
    commit(root)
    write(root, {"vllm/more.py": "x"})
    found = from_checkout(root)
    assert found
    assert found.lost.startswith("2 commits and changed files (")
    assert found.image.endswith(found.checkout.merge_base)


def test_without_a_merge_base_there_is_no_image(tmp_path: Path) -> None:
    root = new(tmp_path / "vllm")
    write(root, VLLM)
    commit(root)
    found = from_checkout(root)
    assert found
    assert "Remote:        none" in found.summary()
    with pytest.raises(UsageError, match="no image fits this checkout"):
        _ = found.image
