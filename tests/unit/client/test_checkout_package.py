"""A commit without a capsule, and a package of which the image has what a checkout lacks."""

from __future__ import annotations

import doctest
import subprocess
import venv
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.vllm_checkout import commit, git, new, write

from devctl.capsule.applying import arguments, artefacts, command
from devctl.capsule.applying.artefacts import missing
from devctl.capsule.applying.command import apply, check_out
from devctl.capsule.applying.patience import wait_for
from devctl.capsule.applying.refusal import (
    BAD_CAPSULE,
    BAD_REPOSITORY,
    NO_FIT,
    NO_TARGET,
    RefusedError,
)
from devctl.capsule.program import program
from unit.client.checkout_things import forged, tree
from unit.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Mapping

PACKAGE = "madeup_llm"
SOURCES = {"__init__.py": "here = 1\n", "core.py": "core\n", "old.py": "old\n"}


class Pod:
    """A mirror, an image that has the package installed, and a target."""

    def __init__(self, above: Path) -> None:
        self.above, self.target = above, above / "target"
        self.site = above / "site"
        self.root = new(above / "repository")
        write(self.root, {f"{PACKAGE}/{name}": text for name, text in SOURCES.items()})
        self.main = commit(self.root)
        self.install(SOURCES | {"_C.so": "compiled", "_version.py": "version = 1\n"})

    def install(self, files: Mapping[str, str]) -> None:
        write(self.site / PACKAGE, files)

    def branch(self, *gone: str, **files: str) -> str:
        """A commit beside the main branch."""
        git(self.root, "checkout", "-q", "-b", "feature")
        for name in gone:
            (self.root / PACKAGE / name).unlink()
        write(self.root, {f"{PACKAGE}/{name}.py": text for name, text in files.items()})
        made = commit(self.root)
        git(self.root, "checkout", "-q", "main")
        return made

    def check_out(self, sha: str, package: str = PACKAGE) -> str:
        return check_out(sha, str(self.root), str(self.target), lambda: None, package)

    def links(self) -> dict[str, Path]:
        folder = self.target / PACKAGE
        found = (each for each in folder.rglob("*") if each.is_symlink())
        return {str(each.relative_to(folder)): each.readlink() for each in found}


@pytest.fixture
def pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pod:
    made = Pod(tmp_path)
    monkeypatch.syspath_prepend(str(made.site))
    return made


def refused(pod: Pod, code: int, sha: str, package: str = PACKAGE) -> str:
    with pytest.raises(RefusedError) as it:
        pod.check_out(sha, package)
    assert it.value.code == code
    assert not list(pod.above.glob(".target*"))
    return str(it.value)


def test_a_commit_is_built_without_a_capsule(pod: Pod) -> None:
    said = pod.check_out(pod.main, "")
    assert said.endswith(f"is {pod.main}, changed paths: 0, files in all: 3")
    assert tree(pod.target) == tree(pod.root)
    assert "already" in pod.check_out(pod.main, "")
    with pytest.raises(RefusedError) as it:
        pod.check_out(pod.branch(more="x"), "")
    assert it.value.code == NO_TARGET


@pytest.mark.parametrize("sha", ["0" * 40, "HEAD", "", "-h"])
def test_a_commit_that_the_mirror_lacks_is_refused(pod: Pod, sha: str) -> None:
    refused(pod, BAD_REPOSITORY, sha, "")


def test_what_is_built_is_linked_to_the_images_package(pod: Pod) -> None:
    pod.install({"__pycache__/core.pyc": "x", "flash/_K.so": "compiled"})
    assert "links to the image's files: 3" in pod.check_out(pod.main)
    assert pod.links() == {
        name: pod.site / PACKAGE / name for name in ("_C.so", "_version.py", "flash/_K.so")
    }
    assert (pod.target / PACKAGE / "_C.so").read_text() == "compiled"


def test_what_is_deleted_does_not_come_back(pod: Pod) -> None:
    # By the branch, whose commit lacks it, while the image is built of where the branch began.
    sha = pod.branch("old.py")
    pod.check_out(sha)
    assert set(pod.links()) == {"_C.so", "_version.py"}
    assert not (pod.target / PACKAGE / "old.py").exists()


def test_what_a_capsule_deletes_or_brings_is_not_the_images(pod: Pod) -> None:
    core = git(pod.root, "rev-parse", f"HEAD:{PACKAGE}/core.py")
    new_blob = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    empty = {"kind": "file", "mode": "100644", "size": 0, "sha256": new_blob, "base": None}
    changes = [
        empty | {"path": f"{PACKAGE}/_version.py"},
        {"path": f"{PACKAGE}/core.py", "base": core, "kind": "deleted"},
    ]
    capsule = pod.above / "capsule"
    about = {"version": 1, "base": pod.main, "changes": changes, "mergeBase": None}
    digest = forged(capsule, about, {f"content/{new_blob}": b""})
    said = apply(
        str(capsule), digest, str(pod.root), str(pod.target), settle=lambda: None, package=PACKAGE
    )
    assert "changed paths: 2" in said
    assert set(pod.links()) == {"_C.so"}
    assert (pod.target / PACKAGE / "_version.py").read_bytes() == b""
    assert not (pod.target / PACKAGE / "core.py").exists()


def test_a_capsule_says_where_its_branch_began(pod: Pod) -> None:
    """The mirror's branch may be another one than that of the image."""
    sha = pod.branch("old.py")
    git(pod.root, "checkout", "-q", "feature")
    capsule = pod.above / "capsule"
    about = {"version": 1, "base": sha, "changes": [], "mergeBase": pod.main}
    digest = forged(capsule, about)
    paths = str(capsule), digest, str(pod.root), str(pod.target)
    apply(*paths, settle=lambda: None, package=PACKAGE)
    assert "old.py" not in pod.links()


def test_a_capsule_of_another_commit_than_the_run_names_is_refused(
    pod: Pod, capsys: pytest.CaptureFixture[str]
) -> None:
    capsule = pod.above / "capsule"
    digest = forged(capsule, {"version": 1, "base": pod.main, "changes": []})
    paths = str(capsule), digest, str(pod.root), str(pod.target)
    assert command.main(["--commit", "0" * 40, *paths]) == BAD_CAPSULE
    assert f"it builds on {pod.main}, and the run names {'0' * 40}" in capsys.readouterr().err
    assert command.main(["--commit", pod.main, *paths]) == 0
    assert command.main(["--commit", pod.main, str(pod.root), str(pod.above / "other")]) == 0


def test_a_mirror_that_does_not_say_where_the_branch_began_is_no_obstacle(pod: Pod) -> None:
    git(pod.root, "symbolic-ref", "HEAD", "refs/heads/none")
    assert "links" in pod.check_out(pod.main)


def test_a_commit_may_be_on_its_way_to_the_mirror(
    pod: Pod, capsys: pytest.CaptureFixture[str]
) -> None:
    mirror = str(pod.above / "mirror.git")
    git(pod.above, "clone", "-q", "--mirror", str(pod.root), mirror)
    sha = pod.branch(more="x")
    pauses: list[float] = []

    def fetched_at_the_third(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            git(Path(mirror), "fetch", "-q", "origin", "+refs/heads/*:refs/heads/*")

    wait_for(sha, mirror, 360, fetched_at_the_third)
    assert pauses == [5.0] * 3
    assert capsys.readouterr().out == f"waiting for the repository to have commit {sha}\n"
    wait_for(sha, mirror, 360, fetched_at_the_third)
    # What no waiting mends: too long, no repository.
    wait_for("0" * 40, mirror, 10, pauses.append)
    wait_for(sha, str(pod.above / "none"), 360, pauses.append)
    wait_for(sha, mirror, 0, pauses.append)
    assert pauses == [5.0] * 5


def test_without_git_nobody_waits(pod: Pod, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(pod.above))
    wait_for(pod.main, str(pod.root), 360, lambda _seconds: pytest.fail("it waits"))
    with pytest.raises(RefusedError, match="there is no `git`"):
        pod.check_out(pod.main)


def test_a_package_that_is_not_there_is_told(pod: Pod) -> None:
    assert refused(pod, NO_FIT, pod.main, "nosuch") == "the commit has no package `nosuch`"
    write(pod.root, {"nosuch/x.py": "x"})
    said = refused(pod, NO_FIT, commit(pod.root), "nosuch")
    assert said == "the image has no Python package `nosuch` installed"
    # A module is no package.
    write(pod.site, {"nosuch.py": "x"})
    assert "no Python package" in refused(pod, NO_FIT, git(pod.root, "rev-parse", "HEAD"), "nosuch")


NAMES = st.sampled_from([b"a", b"b", b"c", b"..", b".git"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map(b"/".join)


@given(st.sets(PATHS), st.sets(PATHS), st.sets(PATHS))
def test_a_link_replaces_nothing_and_is_below_no_file(
    installed: set[bytes], items: set[bytes], sources: set[bytes]
) -> None:
    found = {path for path, _place in missing([(p, b"/" + p) for p in installed], items, sources)}
    assert found <= installed - items - sources
    for path in found:
        assert not any(path.startswith(item + b"/") for item in items)
        assert not any(item.startswith(path + b"/") for item in items)
        assert {b"..", b".git"}.isdisjoint(path.split(b"/"))


def test_the_program_finds_what_is_installed_beside_its_python(pod: Pod) -> None:
    home = pod.above / "python"
    venv.create(home, symlinks=True)
    (site,) = home.glob("lib/python*/site-packages")
    write(site / PACKAGE, {"__init__.py": "raise SystemExit('imported')\n", "_C.so": "compiled"})
    file = pod.above / "program"
    file.write_bytes(program())
    words = ["--package", PACKAGE, "--commit", pod.main, str(pod.root), str(pod.target)]
    done = subprocess.run(
        [str(home / "bin/python3"), "-I", str(file), *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert pod.links() == {"_C.so": site / PACKAGE / "_C.so"}


def test_the_program_ends_when_it_is_told_to(pod: Pod) -> None:
    file = pod.above / "program"
    file.write_bytes(program())
    words = ["--wait", "360", "--commit", "0" * 40, str(pod.root), str(pod.target)]
    with subprocess.Popen(["python3", "-I", str(file), *words], stdout=subprocess.PIPE) as started:
        assert started.stdout
        assert started.stdout.readline().startswith(b"waiting for")
        started.terminate()
        assert started.wait(PATIENCE) == 143


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--commit", "1f", "/mirror"],
        ["capsule", "1f", "/mirror"],
        ["/mirror", "/tree"],
        ["--package", "../x", "--commit", "1f", "/mirror", "/tree"],
        ["--package"],
        ["--wait", "-1", "--commit", "1f", "/mirror", "/tree"],
    ],
)
def test_other_arguments_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(words) == 2
    assert "usage:" in capsys.readouterr().err


@pytest.mark.parametrize("module", [arguments, artefacts])
def test_examples(module: Any) -> None:
    assert doctest.testmod(module).failed == 0
