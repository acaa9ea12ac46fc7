"""What the model store says about a model's files, and what clients of the hub make of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import add_model
import pytest
from add_model import LARGE, File
from devctl_cache_agent import hub
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from pathlib import Path

REPO = "facebook/opt-125m"
HEX = "0123456789abcdef"
NAMES = st.text(st.characters(categories=("L", "N", "P", "Zs")), min_size=1, max_size=20)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join).filter(hub.is_safe)
FILES = st.builds(
    File,
    path=PATHS,
    length=st.integers(0, 1 << 40),
    sha256=st.text(HEX, min_size=64, max_size=64),
    blob=st.text(HEX, min_size=40, max_size=40),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    model = tmp_path / REPO
    (model / "onnx").mkdir(parents=True)
    (model / "config.json").write_text("{}")
    (model / "onnx" / "model.bin").write_bytes(bytes(LARGE))
    (model / ".cache").mkdir()
    (model / ".cache" / "token").write_text("secret")
    (model / "link").symlink_to("/etc/passwd")
    return tmp_path


def test_the_agent_reads_what_is_written_about_a_model(folder: Path) -> None:
    commit = add_model.add(REPO, folder)
    about = folder / ".hub" / REPO
    found = hub.revision((about / "info.json").read_bytes())
    assert found.commit == commit == (about / "commit").read_text()
    small, large = found.files
    assert (small.path, small.length) == ("config.json", 2)
    assert small.blob == "9e26dfeeb6e641a33dae4961196235bdb965b21b", "as `git hash-object` says"
    assert (large.path, large.length, large.blob) == ("onnx/model.bin", LARGE, "")
    assert (about / "tags" / "config.json").read_text() == small.blob
    assert (about / "tags" / "onnx" / "model.bin").read_text() == large.sha256


def test_the_hub_s_own_library_is_told_the_same(folder: Path) -> None:
    add_model.add(REPO, folder)
    small, large = json.loads((folder / ".hub" / REPO / "tree.json").read_text())
    assert (small["type"], small["path"], small["size"]) == ("file", "config.json", 2)
    assert "lfs" not in small
    tag = (folder / ".hub" / REPO / "tags" / "onnx" / "model.bin").read_text()
    assert large["lfs"] == {"oid": tag, "size": LARGE, "pointerSize": 134}


def test_what_changes_is_another_commit_and_what_is_gone_is_forgotten(folder: Path) -> None:
    first = add_model.add(REPO, folder)
    assert add_model.add(REPO, folder) == first
    (folder / REPO / "config.json").unlink()
    assert add_model.add(REPO, folder) != first
    assert not (folder / ".hub" / REPO / "tags" / "config.json").exists()


@pytest.mark.parametrize("repo", ["opt", "../etc/x", "a/b/c", "a/..", ".hub/x", "", "a/b\n"])
def test_what_is_no_name_of_a_model_is_refused(
    folder: Path, repo: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert add_model.main([repo, str(folder)]) == 2
    assert "is not a name such as" in capsys.readouterr().err


def test_a_model_without_files_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert add_model.main(["a/b", str(folder)]) == 2
    assert "copy the model there first" in capsys.readouterr().err
    assert add_model.main([]) == 2


def test_the_commit_is_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert add_model.main([REPO, str(folder)]) == 0
    assert capsys.readouterr().out.strip() == (folder / ".hub" / REPO / "commit").read_text()


@given(st.lists(FILES, min_size=1, unique_by=lambda each: each.path))
def test_the_agent_takes_any_files_with_safe_paths(files: list[File]) -> None:
    paths = {each.path for each in files}
    files = [f for f in files if not any(f.path.startswith(f"{other}/") for other in paths)]
    found = hub.revision(json.dumps(add_model.info(REPO, files)).encode())
    assert [(each.path, each.length) for each in found.files] == [
        (each.path, each.length) for each in files
    ]
    assert [each.sha256 or each.blob for each in found.files] == [each.tag for each in files]
