"""A capsule carries a checkout exactly: the tree that is made of it equals the tree here."""

from __future__ import annotations

import os
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.vllm_checkout import commit, git, new, write

from devctl.capsule.program import program
from devctl.client.checkout import capsule as capsule_module
from devctl.client.checkout.capsule import pack
from devctl.client.checkout.changes import collect
from devctl.client.checkout.detect import detect
from devctl.client.checkout.summary import Summary
from devctl.errors import DevctlError, HostError, UsageError
from unit.client.checkout_things import applied, manifest_of, packed, push, tree


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout whose only commit was pushed."""
    root = new(tmp_path / "checkout")
    names = ["kept", "staged", "both", "renamed", "gone", "untold", "mode", "linked"]
    write(root, {name: f"{name}\n" * 3 for name in names})
    write(root, {"folder/a": "a", "folder/deep/b": "b", "flat": "f", "binary": bytes(range(256))})
    write(root, {".gitignore": "*.log\n", "a.pointer": "version https://git-lfs/spec/v1\n"})
    (root / "link").symlink_to("kept")
    (root / "to-folder").symlink_to("folder")
    commit(root)
    push(root)
    return root


def test_every_kind_of_change_arrives(root: Path) -> None:
    write(root, {"staged": "staged\n", "both": "staged\n", "added": "new\n"})
    git(root, "add", ".")
    write(root, {"both": "and changed again\n"})
    git(root, "mv", "renamed", "moved")
    git(root, "rm", "-q", "gone")
    (root / "untold").unlink()
    (root / "mode").chmod(0o755)
    (root / "linked").unlink()
    (root / "linked").symlink_to("folder/deep")
    (root / "link").unlink()
    write(root, {"link": "a file now"})
    (root / "to-folder").unlink()
    write(root, {"to-folder/a": "a folder now"})
    (root / "flat").unlink()
    write(root, {"flat/x": "a folder now"})
    for name in ("folder/a", "folder/deep/b"):
        (root / name).unlink()
    (root / "folder/deep").rmdir()
    (root / "folder").rmdir()
    write(root, {"folder": "a file now"})
    write(root, {"binary": bytes(reversed(range(256))), "untracked/new.py": "x", "empty": ""})
    write(root, {"noise.log": "ignored", "pack.bin": os.urandom(70_000), "twice": "x"})
    write(root, {"local.txt": "not for others", ".devctlignore": "/local.txt\n"})
    (root / "dangling").symlink_to("nowhere")
    (root / os.fsdecode(b"\xff \n'-*")).write_text("any bytes")
    (root / "tool").write_text("#!/bin/sh\n")
    (root / "tool").chmod(0o700)
    here = tree(root)
    del here[b"noise.log"], here[b"local.txt"]
    done = applied(root)
    assert tree(done.target) == here
    assert done.capsule.counts == {"modified": 6, "deleted": 7, "added": 13}
    assert "changed paths: 26," in done.said


def test_the_same_state_makes_the_same_capsule(root: Path) -> None:
    write(root, {"new": "x", "kept": "changed"})
    one = packed(root)
    (root / "new").touch()
    git(root, "add", ".")
    assert packed(root) == one
    assert one.file.name == f"{one.digest}.tar.gz"
    assert one.size == one.file.stat().st_size
    assert one.small
    write(root, {"new": "y"})
    other = packed(root)
    assert other.name != one.name
    assert sorted(one.file.parent.iterdir()) == sorted([one.file, other.file])


def test_its_manifest_says_what_it_is(root: Path) -> None:
    write(root, {"kept": "changed\n"})
    (root / "linked").unlink()
    (root / "link").unlink()
    (root / "link").symlink_to("mode")
    kept = git(root, "rev-parse", "HEAD:kept")
    found = manifest_of(packed(root))
    head = git(root, "rev-parse", "HEAD")
    assert {found[key] for key in ("commit", "base", "mergeBase")} == {head}
    assert (found["version"], found["branch"]) == (1, "main")
    assert found["remote"] == found["baseRemote"] == "https://git.example/origin/vllm.git"
    by_path = {each["path"]: each for each in found["changes"]}
    assert [by_path["kept"][key] for key in ("kind", "mode", "base")] == ["file", "100644", kept]
    assert by_path["linked"].keys() == {"path", "base", "kind"}
    assert by_path["link"]["target"] == "mode"


def test_a_checkout_without_changes_travels_too(root: Path) -> None:
    done = applied(root)
    assert tree(done.target) == tree(root)
    assert sum(done.capsule.counts.values()) == 0


def test_more_than_a_config_map_holds_is_not_small(root: Path) -> None:
    write(root, {"weights": os.urandom(1_100_000)})
    done = applied(root)
    assert not done.capsule.small
    assert tree(done.target) == tree(root)


def test_the_bytes_here_count_whatever_filters_make_of_them(root: Path) -> None:
    write(root, {".gitattributes": "*.txt text\n*.up filter=up\n*.id ident\n*.crlf eol=crlf\n"})
    write(root, {"a.txt": "one\ntwo\n", "a.up": "lower\n", "a.id": "$Id$\n", "a.crlf": "a\n"})
    git(root, "config", "filter.up.clean", "tr A-Z a-z")
    git(root, "config", "filter.up.smudge", "tr a-z A-Z")
    commit(root)
    push(root)
    git(root, "config", "core.autocrlf", "true")
    for name in ("a.txt", "a.up", "a.id", "a.crlf", "kept"):
        (root / name).unlink()
    git(root, "checkout", "--", ".")
    assert (root / "a.txt").read_bytes() == b"one\r\ntwo\r\n"
    assert (root / "a.up").read_bytes() == b"LOWER\r\n"
    assert git(root, "status", "--short") == ""
    assert tree(applied(root).target) == tree(root)


def test_pointers_of_lfs_stay_pointers(root: Path) -> None:
    for key in ("clean", "smudge", "process"):
        git(root, "config", f"filter.lfs.{key}", "false")
    git(root, "config", "filter.lfs.required", "true")
    pointer = "version https://git-lfs/spec/v1\noid sha256:{}\nsize 12\n"
    write(root, {".gitattributes": "*.pointer filter=lfs diff=lfs merge=lfs -text\n"})
    write(root, {"a.pointer": pointer.format("a" * 64), "b.pointer": pointer.format("b" * 64)})
    done = applied(root, root)
    assert tree(done.target) == tree(root)
    assert done.capsule.counts == {"modified": 1, "deleted": 0, "added": 2}


def test_no_program_of_the_repository_is_run(root: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    spy = f"touch {ran}; cat"
    write(root, {".gitattributes": "* filter=spy diff=spy\n", "kept": "changed"})
    settings = ["filter.spy.clean", "filter.spy.smudge", "diff.spy.textconv", "diff.external"]
    for key in [*settings, "core.fsmonitor", "core.pager"]:
        git(root, "config", key, spy)
    for hook in ("post-checkout", "post-index-change"):
        write(root, {f".git/hooks/{hook}": f"#!/bin/sh\n{spy}\n"})
        (root / ".git/hooks" / hook).chmod(0o755)
    before = tree(root)
    assert tree(applied(root, root).target) == before
    assert not ran.exists()
    # git itself runs them.
    git(root, "status")
    assert ran.exists()


def test_files_that_git_is_told_not_to_look_at_are_looked_at(root: Path) -> None:
    git(root, "update-index", "--assume-unchanged", "kept")
    git(root, "update-index", "--skip-worktree", "staged", "both")
    write(root, {"kept": "changed\n", "staged": "changed\n"})
    (root / "both").unlink()
    here = tree(root) | {b"both": ("file", b"both\n" * 3)}
    done = applied(root)
    # It is not here because it was left out, so it is as the commit has it.
    assert tree(done.target) == here
    assert done.capsule.counts["modified"] == 2


@pytest.mark.parametrize(
    "how", [("--no-cone", "/kept", "/.gitignore"), ("--cone", "--sparse-index", "folder/deep")]
)
def test_what_a_sparse_checkout_leaves_out_is_as_committed(
    root: Path, how: tuple[str, ...]
) -> None:
    write(root, {"other/x": "x", "other/deep/y": "y"})
    commit(root)
    push(root)
    here = tree(root)
    git(root, "sparse-checkout", "set", *how)
    write(root, {"kept": "changed\n"})
    assert not (root / "other").exists()
    done = applied(root)
    assert tree(done.target) == here | {b"kept": ("file", b"changed\n")}
    assert done.capsule.counts == {"modified": 1, "deleted": 0, "added": 0}
    found = detect(root)
    assert "not checked out here, and as committed there" in str(Summary(found, collect(found)))


def test_a_change_that_a_sparse_checkout_has_left_out_is_refused(root: Path) -> None:
    write(root, {"staged": "not pushed\n"})
    commit(root)
    git(root, "sparse-checkout", "set", "--no-cone", "/kept")
    with pytest.raises(UsageError, match=r"`staged`: a sparse checkout has left it out"):
        packed(root)


def test_where_the_file_system_has_no_modes_the_index_has_them(root: Path) -> None:
    git(root, "update-index", "--chmod=+x", "mode")
    git(root, "config", "core.fileMode", "false")
    git(root, "config", "core.symlinks", "false")
    (root / "kept").chmod(0o755)
    (root / "link").unlink()
    write(root, {"link": "kept"})
    done = tree(applied(root).target)
    assert (done[b"kept"][0], done[b"mode"][0], done[b"link"]) == (
        "file",
        "program",
        ("link", b"kept"),
    )


def test_unpushed_commits_travel_as_changes(root: Path) -> None:
    base = git(root, "rev-parse", "HEAD")
    write(root, {"kept": "committed\n", "more": "committed\n"})
    git(root, "rm", "-q", "gone")
    commit(root)
    mirror = root.parent / "mirror.git"
    git(root.parent, "clone", "-q", "--bare", str(root), str(mirror))
    git(mirror, "update-ref", "refs/heads/main", base)
    done = applied(root, mirror)
    assert manifest_of(done.capsule)["base"] == base
    assert tree(done.target) == tree(root)


def test_a_linked_worktree_is_a_checkout_of_its_own(root: Path, tmp_path: Path) -> None:
    git(root, "worktree", "add", "-q", str(tmp_path / "other"), "-b", "feature")
    other = tmp_path / "other"
    write(other, {"kept": "changed there\n"})
    assert detect(other / "folder").root == other
    done = applied(other, root)
    assert tree(done.target) == tree(other)
    assert manifest_of(done.capsule)["branch"] == "feature"


def test_a_repository_with_sha256_works_the_same(tmp_path: Path) -> None:
    root = tmp_path / "checkout"
    root.mkdir()
    git(root, "init", "-q", "-b", "main", "--object-format=sha256")
    write(root, {"a/b": "x", "c": "y"})
    commit(root)
    push(root)
    write(root, {"c": "changed"})
    (root / "new").symlink_to("a/b")
    done = applied(root, root)
    assert tree(done.target) == tree(root)
    assert done.capsule.counts["modified"] == 1


def test_the_program_runs_as_one_file_without_devctl(root: Path, tmp_path: Path) -> None:
    write(root, {"kept": "changed\n"})
    capsule = packed(root)
    file = tmp_path / "apply.pyz"
    file.write_bytes(program())
    assert program() == file.read_bytes()
    target = tmp_path / "target"
    command = ["python3", "-I", str(file), str(capsule.file)]
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
    for digest, code in ((capsule.digest, 0), (capsule.digest, 0), ("0" * 64, 93)):
        done = subprocess.run(
            [*command, digest, str(root), str(target)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr
    assert done.stderr.startswith("error: `")
    assert tree(target) == tree(root)
    nothing = subprocess.run([*command], env=environment, capture_output=True, check=False)
    assert nothing.returncode == 2


def test_what_changes_while_it_is_read_is_not_sent(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    into = root.parent / "capsules"
    into.mkdir()
    for change in (
        lambda: write(root, {"both": "changed"}),
        lambda: write(root, {"staged": "same size"}),
        lambda: write(root, {"another": "one"}),
        (root / "both").unlink,
        lambda: (root / "mode").chmod(0o755),
        partial(commit, root),
        partial(git, root, "commit", "-q", "--allow-empty", "-m", "nothing"),
    ):
        write(root, {"staged": "some size"})
        changes = collect(detect(root))
        change()
        with pytest.raises(DevctlError, match="changed while it was being read, and nothing was"):
            pack(changes, into)
        assert list(into.iterdir()) == []
    # A file that keeps its size and time is told by its content.
    write(root, {"staged": "same size"})
    changes = collect(detect(root))
    write(root, {"staged": "diff size"})
    monkeypatch.setattr(type(changes), "check", lambda _self: None)
    with pytest.raises(DevctlError, match="`staged` changed while"):
        pack(changes, into)
    assert list(into.iterdir()) == []


def test_a_folder_that_cannot_be_written_to_is_named(root: Path, tmp_path: Path) -> None:
    with pytest.raises(HostError, match="cannot write to"):
        pack(collect(detect(root)), tmp_path / "nowhere")


def test_a_full_disk_is_not_taken_for_a_change(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    write(root, {"weights": os.urandom(100_000)})
    monkeypatch.setattr(capsule_module._Written, "write", full)  # noqa: SLF001 - a disk
    with pytest.raises(HostError, match="No space left"):
        packed(root)


PART = st.one_of(
    st.sampled_from([b"a", b"b", b"c.py", b"d d", b"-e"]),
    st.binary(min_size=1, max_size=6).map(lambda raw: raw.replace(b"/", b"_").replace(b"\0", b"0")),
).filter(lambda part: part not in {b".", b".."} and b"git" not in part.lower())
PATH = st.lists(PART, min_size=1, max_size=3).map(b"/".join)
FILE = st.tuples(st.sampled_from(["file", "program"]), st.binary(max_size=20))
LINK = st.tuples(st.just("link"), PATH)
TREES = st.dictionaries(PATH, FILE | LINK, max_size=8)


def lay(root: Path, files: dict[bytes, tuple[str, bytes]]) -> None:
    """Make a tree, as far as its paths allow: a later file does not replace a folder."""
    for name, (kind, content) in files.items():
        path = root / os.fsdecode(name)
        above = [each for each in path.parents if each.is_relative_to(root)]
        if os.path.lexists(path) or any(f.is_file() or f.is_symlink() for f in above):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "link":
            path.symlink_to(os.fsdecode(content))
            continue
        path.write_bytes(content)
        path.chmod(0o755 if kind == "program" else 0o644)


def clear(root: Path) -> None:
    for each in root.iterdir():
        if each.name != ".git":
            subprocess.run(["rm", "-rf", "--", os.fsencode(each)], check=True)


@settings(max_examples=30)
@given(TREES, TREES, st.booleans(), st.sampled_from(["nothing", "add", "commit"]))
def test_any_tree_arrives_from_any_other(
    before: dict[bytes, tuple[str, bytes]],
    after: dict[bytes, tuple[str, bytes]],
    keep: bool,  # noqa: FBT001 - hypothesis gives it by position
    then: str,
) -> None:
    with tempfile.TemporaryDirectory() as above:
        root = new(Path(above) / "checkout")
        lay(root, before)
        commit(root)
        push(root)
        clear(root)
        lay(root, before | after if keep else after)
        if then != "nothing":
            git(root, "add", "-A")
        if then == "commit":
            commit(root)
        assert tree(applied(root, root).target) == tree(root)
