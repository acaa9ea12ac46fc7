"""Links that a job has left on its volume lead nothing out of it that comes later."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from devctl.client.jobs import copy_url
from devctl.client.jobs import files as jobs_files
from devctl.client.jobs.fetch import Limits
from devctl.client.jobs.files import DIGESTS, choose
from devctl.errors import DevctlError
from unit.client.job_things import FILES, place
from unit.client.pods import tree

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "target", ["{above}", "..", "../there-too", "own/../..", "nowhere", "/no/where", "twice"]
)
def test_a_link_on_the_volume_leads_no_folder_out_of_it(
    target: str, here: Path, there: Path
) -> None:
    """An earlier job with the same volume can leave anything there."""
    (there.parent / "there-too").mkdir()
    (there / "own").mkdir()
    (there / "own" / "up").symlink_to("../..")
    (there / "twice").symlink_to("own/up")
    (there / "sub").symlink_to(target.format(above=there.parent))
    for name in ("main.py", "sub/deep/file", "own/up/file"):
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text(name)
    with pytest.raises(DevctlError, match="a link there leads out of the volume: `own/up`, `sub`;"):
        FILES.upload("my-job", choose(here))
    (there / "own" / "up").unlink()
    if target != "twice":
        with pytest.raises(DevctlError, match="a link there leads out of the volume: `sub`;"):
            FILES.upload("my-job", choose(here))
    assert tree(there) == tree(there.parent / "there-too") == {}
    assert sorted(os.listdir(there.parent)) == ["here", "there-too", "volume"]  # noqa: PTH208


def test_a_link_within_the_volume_is_followed_and_one_to_a_file_is_replaced(
    here: Path, there: Path
) -> None:
    (there / "own").mkdir()
    (there / "within").symlink_to("own")
    (there / "input.jpg").symlink_to(here / "elsewhere")
    (here / "within" / "empty").mkdir(parents=True)
    for name in ("input.jpg", "within/file"):
        (here / name).write_text(name)
    assert FILES.upload("my-job", choose(here)).files == 3
    assert tree(there) == {"input.jpg": b"input.jpg", "own/file": b"within/file"}
    assert (there / "own" / "empty").is_dir()
    assert not (here / "elsewhere").exists()


@pytest.mark.parametrize("of", ["sub", "sub/file"])
def test_a_file_elsewhere_is_not_taken_for_the_one_that_was_sent(
    of: str, here: Path, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it holds is the same; it is not on the volume."""
    (here / "sub").mkdir()
    (here / "sub" / "file").write_text("x")
    moved = f'cd -- "$1" || exit; mv {of} ../moved; ln -s "$PWD/../moved" {of}\n{DIGESTS}'
    monkeypatch.setattr(jobs_files, "DIGESTS", moved)
    with pytest.raises(DevctlError, match="a link"):
        FILES.upload("my-job", choose(here))
    assert (there / of).is_symlink()


@pytest.mark.parametrize("target", ["/", "..", "deep/../..", "../there-too"])
def test_a_link_on_the_volume_leads_no_url_out_of_it(
    target: str, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (there / "deep").mkdir()
    (there.parent / "there-too").mkdir()
    (there / "out").symlink_to(target)
    (there / "within").symlink_to("deep")
    (there / "passwd").symlink_to("/etc/passwd")
    monkeypatch.setattr(copy_url, "fetch", lambda *_: iter([b"image"]))
    with pytest.raises(DevctlError, match="a link there leads out of the volume"):
        copy_url.copy_url(place(), "http://a/", "/artifacts/out/x/image.jpg", Limits())
    copy_url.copy_url(place(), "http://a/", "/artifacts/within/image.jpg", Limits())
    # A link is replaced, and not written through.
    copy_url.copy_url(place(), "http://a/", "/artifacts/passwd", Limits())
    assert tree(there) == {"deep/image.jpg": b"image", "passwd": b"image"}
    assert list((there.parent / "there-too").rglob("*.jpg")) == []
