"""Code that travels with a workload: the same files make the same archive, and old ones go."""

from __future__ import annotations

import base64
import gzip
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from devctl.api.gpu_workload import ARCHIVE
from devctl.client.files.local import Selection, select
from devctl.client.jobs.files import choose
from devctl.client.workloads import code as code_module
from devctl.client.workloads.code import LABELS, Unchanged, pack, prune, send, sent_files
from devctl.client.workloads.workload import Workload
from devctl.errors import DevctlError, UsageError
from unit.client.objects import NAMESPACE, NOW, ago
from unit.client.workload_things import WORKLOADS, gpu_workload

if TYPE_CHECKING:
    from unit.client.fake_cluster import FakeApi, Thing

MAPS = "configmaps"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "pkg").mkdir(parents=True)
    (root / "train.py").write_text("print('hello')\n")
    (root / "pkg" / "run.sh").write_text("#!/bin/sh\n")
    (root / "pkg" / "run.sh").chmod(0o755)
    (root / "link").symlink_to("train.py")
    (root / ("long" * 40)).write_text("x")
    return root


def named(code: str) -> Thing:
    return gpu_workload("llama", spec={"workspace": {"configMapName": code}})


def stored(name: str, minutes: int) -> Thing:
    created = {"creationTimestamp": ago(minutes=minutes)}
    return {"metadata": {"name": name, "namespace": NAMESPACE, "labels": LABELS, **created}}


def test_any_tar_unpacks_what_was_sent(project: Path, tmp_path: Path) -> None:
    code = pack(choose(project))
    there = tmp_path / "there"
    there.mkdir()
    subprocess.run(["tar", "-xzf", "-", "-C", str(there)], input=code.data, check=True)
    assert (there / "train.py").read_text() == "print('hello')\n"
    assert (there / "link").readlink() == Path("train.py")
    assert os.access(there / "pkg" / "run.sh", os.X_OK)
    assert (there / ("long" * 40)).exists()
    assert (code.files, "4 files" in str(code)) == (4, True)


def test_the_same_files_are_sent_once(project: Path, api: FakeApi) -> None:
    code = pack(choose(project))
    assert pack(choose(project)).name == code.name
    for _ in range(2):
        assert send(api.cluster(), code) == code.name
    assert api.names(MAPS) == [code.name]
    found = api.get(MAPS, code.name)
    assert found["immutable"]
    assert base64.b64decode(found["binaryData"][ARCHIVE]) == code.data
    (project / "train.py").write_text("print('other')\n")
    assert pack(choose(project)).name != code.name


def test_what_is_too_large_stays_here(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "model.pt").write_bytes(os.urandom(1_100_000))
    with pytest.raises(
        UsageError, match=r"1.1 MB compressed, and at most 1.0 MB.*`model.pt`"
    ) as it:
        pack(choose(project))
    assert "--mount" in it.value.fix
    monkeypatch.setattr(code_module, "_PLAIN", 1_000_000)
    monkeypatch.setattr(gzip, "compress", lambda *_, **__: pytest.fail("it was read"))
    with pytest.raises(UsageError, match=r"the code has 1.1 MB, and at most"):
        pack(choose(project))


def test_a_file_that_changes_meanwhile_is_not_sent(project: Path) -> None:
    selection: Selection = select(project.resolve(), ["train.py"])
    (project / "train.py").write_text("print('changed')\n")
    with pytest.raises(DevctlError, match=r"`train\.py` changed while it was being read"):
        pack(selection)


def test_code_that_no_workload_names_goes(api: FakeApi) -> None:
    api.add(MAPS, stored("used", 90), stored("old", 90), stored("new", 30))
    api.add(MAPS, {"metadata": {"name": "another", "creationTimestamp": ago(minutes=90)}})
    api.add(WORKLOADS, named("used"), gpu_workload("other"))
    prune(api.cluster(), NOW)
    assert sorted(api.names(MAPS)) == ["another", "new", "used"]


def test_nothing_more_is_asked_without_old_code(api: FakeApi) -> None:
    api.add(MAPS, stored("new", 30))
    prune(api.cluster(), NOW)
    assert api.requests == ["GET configmaps"]


def test_what_travelled_is_known_afterwards(project: Path, api: FakeApi) -> None:
    code = pack(choose(project))
    send(api.cluster(), code)
    found = sent_files(api.cluster(), Workload(named(code.name)))
    about = (project / "train.py").stat()
    assert found["train.py"] == Unchanged(about.st_size, int(about.st_mtime))
    assert sent_files(api.cluster(), Workload(named("gone"))) == {}
    assert sent_files(api.cluster(), Workload(gpu_workload())) == {}


@pytest.mark.parametrize(
    "data",
    [b"no archive", gzip.compress(b"no archive" * 99), b""],
    # The time is part of gzip's output, and each process of a run makes its own.
    ids=["no archive", "something else packed", "nothing"],
)
def test_an_archive_of_somebody_else_is_read_with_care(data: bytes, api: FakeApi) -> None:
    encoded = base64.b64encode(data).decode()
    api.add(MAPS, {"metadata": {"name": "odd"}, "binaryData": {ARCHIVE: encoded}})
    assert sent_files(api.cluster(), Workload(named("odd"))) == {}
