"""`devctl sync`, with pods that are folders here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from devctl.cli import confirm
from devctl.client.files import files as client_files
from devctl.errors import DevctlError
from unit.cli.file_things import lab
from unit.client.objects import CLAIMS, PODS, home
from unit.client.pods import tree

if TYPE_CHECKING:
    from pathlib import Path

    from unit.cli.conftest import Devctl
    from unit.cli.file_things import Homes
    from unit.client.fake_cluster import FakeApi

__all__ = ["lab"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text("print()")
    (folder / ".env").write_text("PASSWORD=x")
    return folder


def test_a_folder_goes_to_every_home(devctl: Devctl, lab: Homes, project: Path) -> None:
    found = devctl("sync", "lab", str(project))
    assert found.code == 0
    assert found.stdout.splitlines() == [
        "lab-0:/home/dev/project: 1 file, 7 B sent",
        "lab-1:/home/dev/project: 1 file, 7 B sent",
    ]
    assert found.stderr.splitlines() == [
        "  + train.py  7 B",
        "left out, as they look like secrets: `.env`",
        "  --include-secrets sends them too, `devctl cp` a single one",
    ]
    assert tree(lab.home(0)) == tree(lab.home(1)) == {"project/train.py": b"print()"}
    again = devctl("sync", "lab", str(project), "--include-secrets", "--replica", "1")
    assert again.stdout == "lab-1:/home/dev/project: 1 file, 10 B sent\n"
    assert sorted(tree(lab.home(1))) == ["project/.env", "project/train.py"]


def test_what_is_done_is_shown(devctl: Devctl, lab: Homes, project: Path) -> None:
    devctl("sync", "lab", str(project), "x")
    (project / "train.py").unlink()
    for number in range(30):
        (project / f"{number:02}\x1b[31m").write_text("x")
    found = devctl("sync", "lab", str(project), "x", "--delete", "--dry-run", "--replica", "0")
    lines = found.stderr.splitlines()
    assert lines[0] == "  + 00\\x1b[31m  1 B"
    assert lines[20] == "  … and 11 more"
    assert found.stdout == ("lab-0:/home/dev/x: 30 files, 30 B would be sent, 1 would be deleted\n")
    devctl("sync", "lab", str(project), "x", "--delete", "--replica", "0")
    assert "x/train.py" not in tree(lab.home(0))
    assert "x/train.py" in tree(lab.home(1))


def test_a_folder_comes_back(devctl: Devctl, lab: Homes, tmp_path: Path) -> None:
    (lab.home(1) / "runs").mkdir(parents=True)
    (lab.home(1) / "runs" / "model").write_text("model")
    (lab.home(1) / "runs" / "out").symlink_to("/etc")
    target = tmp_path / "results"
    found = devctl("sync", "lab", str(target), "runs", "--from", "--replica", "1")
    assert found.code == 1
    assert "left out: `out`: this link leads out of the folder" in found.stderr
    assert found.stdout == f"{target}: 1 file, 5 B brought\n"
    assert tree(target) == {"model": b"model"}


def test_no_git_repository_comes_back(devctl: Devctl, lab: Homes, project: Path) -> None:
    there = lab.home(0) / "project"
    (there / ".git" / "hooks").mkdir(parents=True)
    (there / ".git" / "hooks" / "post-checkout").write_text("evil")
    found = devctl("sync", "lab", str(project), "--from")
    assert found.code == 0
    assert found.stderr.startswith("left out: 1 file of git (`.git`), which could run")
    assert not (project / ".git").exists()


def brought(devctl: Devctl, lab: Homes, folder: Path, count: int) -> Path:
    """A folder of a home with so many files, which have been brought here."""
    there = lab.home(0) / "runs"
    there.mkdir()
    for number in range(count):
        (there / f"{number:02}").write_text("x")
    assert devctl("sync", "lab", str(folder), "runs", "--from").code == 0
    return there


def on_claim(api: FakeApi, uid: str) -> None:
    """Have the pod lab-0 its home on a claim."""
    spec = api.get(PODS, "lab-0")["spec"]
    claim = {"name": "home", "persistentVolumeClaim": {"claimName": "home-lab-0"}}
    mounts = [{"name": "home", "mountPath": "/home/dev"}, {"name": "other", "mountPath": "/"}]
    spec |= {"containers": [{"name": "server", "volumeMounts": mounts}], "volumes": [claim]}
    found = home("lab", 0)
    found["metadata"]["uid"] = uid
    api.add(CLAIMS, found)


def test_a_home_that_was_made_again_takes_nothing_away(
    api: FakeApi, devctl: Devctl, lab: Homes, tmp_path: Path
) -> None:
    folder, back = tmp_path / "runs", ("--from", "--delete", "--confirm")
    on_claim(api, "uid-first")
    there = brought(devctl, lab, folder, 3)
    (there / "00").unlink()
    # The pod is another one after each start; the volume is the same.
    api.get(PODS, "lab-0")["metadata"]["uid"] = "uid-later"
    assert "1 deleted" in devctl("sync", "lab", str(folder), "runs", *back).stdout
    for file in there.iterdir():
        file.unlink()
    on_claim(api, "uid-second")
    found = devctl("sync", "lab", str(folder), "runs", *back)
    assert (found.code, found.stdout) == (0, f"{folder}: nothing has changed\n")
    assert sorted(tree(folder)) == ["01", "02"]


def test_many_files_here_go_only_with_a_word(devctl: Devctl, lab: Homes, tmp_path: Path) -> None:
    folder, back = tmp_path / "runs", ("runs", "--from", "--delete")
    there = brought(devctl, lab, folder, 30)
    for number in range(25):
        (there / f"{number:02}").unlink()
    (there / "new").write_text("x")
    shown = devctl("sync", "lab", str(folder), *back, "--dry-run").stderr.splitlines()
    assert shown == [*(f"  - {number:02}" for number in range(25)), "  … and 1 more"]
    found = devctl("sync", "lab", str(folder), *back)
    assert found.code == 2
    assert found.stderr.startswith("error: 25 files here would be deleted: `00`, `01`, `02`")
    assert "repeat it with --yes" in found.stderr
    assert len(tree(folder)) == 30
    assert devctl("sync", "lab", str(folder), *back, "--confirm").code == 0
    assert sorted(tree(folder)) == ["25", "26", "27", "28", "29", "new"]


@pytest.mark.parametrize("answer", ["y", "n"])
def test_all_files_here_go_only_with_a_word(
    answer: str, devctl: Devctl, lab: Homes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "runs"
    there = brought(devctl, lab, folder, 2)
    for file in there.iterdir():
        file.unlink()
    monkeypatch.setattr(confirm, "somebody_is_here", lambda: True)
    found = devctl("sync", "lab", str(folder), "runs", "--from", "--delete", typed=f"{answer}\n")
    assert "  - 00\n  - 01\nDelete these 2 files here" in found.stderr
    assert found.code == (0 if answer == "y" else 2)
    assert len(tree(folder)) == (0 if answer == "y" else 2)


def test_few_files_here_go_as_asked(devctl: Devctl, lab: Homes, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    there = brought(devctl, lab, folder, 11)
    for number in range(10):
        (there / f"{number:02}").unlink()
    assert devctl("sync", "lab", str(folder), "runs", "--from", "--delete").code == 0
    assert sorted(tree(folder)) == ["10"]


def test_files_that_were_changed_on_both_sides(devctl: Devctl, lab: Homes, project: Path) -> None:
    devctl("sync", "lab", str(project))
    (lab.home(1) / "project" / "train.py").write_text("theirs")
    (project / "train.py").write_text("mine, and longer")
    found = devctl("sync", "lab", str(project))
    assert found.code == 1
    error, fix = found.stderr.splitlines()
    assert error.startswith("error: `lab-1:/home/dev/project`: `train.py` was changed there")
    assert fix.startswith("  fix: fetch it with `devctl sync --from`")
    assert devctl("sync", "lab", str(project), "--overwrite").code == 0


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        (["missing", "."], 3, "missing"),
        (["lab", "no-such-folder"], 2, "`no-such-folder` is not a folder"),
        (["lab", ".", "--replica", "7"], 3, "has no replica 7"),
        (["lab", ".", "--replica", "-1"], 2, "-1"),
        (["lab", ".", "--watch", "--dry-run"], 2, "--watch does not go with --dry-run"),
        (["lab", ".", "a\nb"], 2, "control characters"),
        (["lab", "x", "no/such", "--from"], 3, "there is no `lab-0:/home/dev/no/such`"),
        (["lab"], 2, "LOCAL"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes(  # noqa: PLR0913, PLR0917 - four are fixtures
    line: list[str], code: int, said: str, devctl: Devctl, lab: Homes, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    found = devctl("sync", *line)
    assert found.code == code
    assert said in found.stderr
    assert tree(lab.home(0)) == {}


def test_watching(
    devctl: Devctl, lab: Homes, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed: list[float] = []

    def sleep(seconds: float) -> None:
        passed.append(seconds)
        if len(passed) == 2:
            (project / "new.py").write_text("new")
        if len(passed) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(client_files, "wait", sleep)
    found = devctl("sync", "lab", str(project), "--watch", "--replica", "0")
    assert found.code == 130
    assert found.stdout.splitlines() == [
        "lab-0:/home/dev/project: 1 file, 7 B sent",
        "lab-0:/home/dev/project: 1 file, 3 B sent",
    ]
    assert "watching; Ctrl-C ends it" in found.stderr
    assert sorted(tree(lab.home(0))) == ["project/new.py", "project/train.py"]


def test_watching_ends_with_what_only_a_person_can_settle(
    devctl: Devctl, lab: Homes, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sleep(_seconds: float) -> None:
        (lab.home(0) / "project" / "train.py").write_text("theirs")
        (project / "train.py").write_text("mine, and longer")

    monkeypatch.setattr(client_files, "wait", sleep)
    found = devctl("sync", "lab", str(project), "--watch")
    assert found.code == 1
    assert "was changed there" in found.stderr


def test_the_error_of_a_pod_is_two_lines(
    devctl: Devctl, lab: Homes, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise DevctlError("`lab-0:/x`: No space left on device", "delete files there")

    monkeypatch.setattr("devctl.client.files.remote.receive", fail)
    found = devctl("sync", "lab", str(project))
    assert found.code == 1
    assert found.stderr.splitlines() == [
        "error: `lab-0:/x`: No space left on device",
        "  fix: delete files there",
    ]
    assert tree(lab.home(0)) == {}
