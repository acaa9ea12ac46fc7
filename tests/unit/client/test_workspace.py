"""The volume of a workload: what its program wrote comes back, and nothing else."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest

from devctl.api.gpu_workload import LABEL
from devctl.client.jobs.files import choose
from devctl.client.workloads import workspace as workspace_module
from devctl.client.workloads.code import pack, send
from devctl.client.workloads.workload import Workload
from devctl.client.workloads.workspace import Workspaces
from devctl.errors import NotFoundError, UsageError
from unit.client.job_things import place, volume
from unit.client.objects import NAMESPACE
from unit.client.pods import tree
from unit.client.workload_things import gpu_workload

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from unit.client.fake_cluster import FakeApi, Thing

CLAIMS = "persistentvolumeclaims"


def claim(phase: str = "Bound", **labels: str) -> Thing:
    meta = {"name": "workspace-llama", "namespace": NAMESPACE, "labels": {LABEL: "llama"} | labels}
    return {"metadata": meta, "spec": {}, "status": {"phase": phase}}


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The volume, with a pod that mounts it already."""
    root = tmp_path / "there"
    root.mkdir()
    volume(root, monkeypatch)
    monkeypatch.setattr(workspace_module, "mounting", lambda *_, **__: nullcontext(place()))
    return root


def written(root: Path, files: Mapping[str, str]) -> None:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)


def test_what_travelled_and_was_left_alone_stays_there(
    api: FakeApi, there: Path, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    written(project, {"train.py": "train", "config.json": "{}", "pkg/a.py": "a"})
    (project / "link").symlink_to("train.py")
    code = pack(choose(project))
    send(api.cluster(), code)
    kept = {"train.py": "train", "pkg/a.py": "a"}
    written(there, kept | {"config.json": "[1]", "out/m.pt": "model"})
    (there / "link").symlink_to("train.py")
    for name in kept:
        # As tar restores it.
        about = (project / name).stat()
        os.utime(there / name, (about.st_mtime, about.st_mtime))
    api.add(CLAIMS, claim())
    job = Workload(gpu_workload("llama", spec={"workspace": {"configMapName": code.name}}))

    done = Workspaces(api.cluster()).download("llama", tmp_path / "results", workload=job)
    assert tree(tmp_path / "results") == {"config.json": b"[1]", "out/m.pt": b"model"}
    assert done.files == 2

    Workspaces(api.cluster()).download("llama", tmp_path / "all")
    assert set(tree(tmp_path / "all")) == {"train.py", "config.json", "pkg/a.py", "out/m.pt"}


def test_a_workload_without_a_volume(api: FakeApi, there: Path, tmp_path: Path) -> None:
    assert there
    spaces = Workspaces(api.cluster())
    with pytest.raises(NotFoundError, match=r"`llama` has no volume.*"):
        spaces.download("llama", tmp_path / "results")
    api.add(CLAIMS, claim(**{LABEL: "other"}))
    with pytest.raises(NotFoundError, match="has no volume"):
        spaces.delete("llama")
    api.add(CLAIMS, claim("Pending"))
    with pytest.raises(NotFoundError, match="its program has not started yet"):
        spaces.download("llama", tmp_path / "results")


def test_a_file_is_no_folder_for_results(api: FakeApi, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="is not a folder"):
        Workspaces(api.cluster()).download("llama", tmp_path / "file")
    assert api.requests == []


def test_a_volume_is_deleted(api: FakeApi) -> None:
    api.add(CLAIMS, claim())
    assert Workspaces(api.cluster()).delete("llama").name == "workspace-llama"
    assert api.names(CLAIMS) == []
