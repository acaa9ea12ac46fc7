"""The applying side trusts neither capsule nor repository, and leaves no half of a target."""

from __future__ import annotations

import ast
import hashlib
import os
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.vllm_checkout import commit, git, new, write

from devctl.capsule import applying
from devctl.capsule.applying import files, objects
from devctl.capsule.applying.command import apply
from devctl.capsule.applying.names import clash, link_problem, problem
from devctl.capsule.applying.refusal import (
    BAD_CAPSULE,
    BAD_REPOSITORY,
    BAD_TREE,
    NO_FIT,
    NO_TARGET,
    RefusedError,
)
from devctl.capsule.applying.target import Target
from unit.client.checkout_things import change, forged, link, tree

if TYPE_CHECKING:
    from collections.abc import Mapping

NEW = {f"content/{hashlib.sha256(b'new').hexdigest()}": b"new"}


class Pod:
    """A repository, a capsule that builds on its commit, and a target."""

    def __init__(self, above: Path) -> None:
        self.repository = new(above / "repository")
        write(self.repository, {"a": "a\n", "folder/b": "b\n"})
        (self.repository / "folder" / "link").symlink_to("b")
        self.base = commit(self.repository)
        self.capsule, self.target = above / "capsule.tar.gz", above / "target"

    def blob(self, name: str) -> str:
        return git(self.repository, "rev-parse", f"HEAD:{name}")

    def apply(
        self, *changes: object, contents: Mapping[str, bytes] | None = None, **about: Any
    ) -> str:
        whole = {"version": 1, "base": self.base, "changes": list(changes)} | about
        return self.run(forged(self.capsule, whole, contents))

    def run(self, digest: str) -> str:
        paths = str(self.capsule), digest, str(self.repository), str(self.target)
        return apply(*paths, settle=lambda: None)

    def refuse(self, code: int, digest: str = "", *changes: object, **more: Any) -> str:
        """Expect a refusal that leaves nothing behind; what it says."""
        before = sorted(self.target.parent.iterdir())
        with pytest.raises(RefusedError) as it:
            _ = self.run(digest) if digest else self.apply(*changes, **more)
        assert it.value.code == code, it.value
        assert {*self.target.parent.iterdir()} - {*before, self.capsule} == set()
        assert "\n" not in str(it.value)
        return str(it.value)


@pytest.fixture
def pod(tmp_path: Path) -> Pod:
    return Pod(tmp_path)


def test_what_is_finished_stays_as_it_is(pod: Pod) -> None:
    pod.target.mkdir()
    assert "changed paths: 1, files in all: 4" in pod.apply(change("new", b"new"), contents=NEW)
    # Its program may have changed it.
    write(pod.target, {"a": "result"})
    assert "already" in pod.apply(change("new", b"new"), contents=NEW)
    assert (pod.target / "a").read_text() == "result"
    said = pod.refuse(NO_TARGET, "", change("other", b"new"), contents=NEW)
    assert "is there already, and not of this capsule" in said


@pytest.mark.parametrize("left", ["folder", "file", "link"])
def test_what_is_half_finished_starts_anew(pod: Pod, tmp_path: Path, left: str) -> None:
    write(tmp_path, {"outside/kept": "x"})
    incoming = tmp_path / ".target.incoming"
    if left == "folder":
        write(incoming, {"a": "old", "leftover/x": "x"})
        (incoming / "out").symlink_to(tmp_path / "outside")
    elif left == "file":
        incoming.write_text("x")
    else:
        incoming.symlink_to(tmp_path / "outside")
    write(tmp_path, {".target.capsule.new": "half"})
    pod.apply(change("new", b"new"), contents=NEW)
    assert tree(pod.target).keys() == {b"a", b"folder/b", b"folder/link", b"new"}
    assert (tmp_path / "outside" / "kept").exists()


def test_a_kill_at_any_write_leaves_no_target(pod: Pod, monkeypatch: pytest.MonkeyPatch) -> None:
    real, incoming = files.Writer.write, pod.target.with_name(".target.incoming")
    for last in range(3):
        left = [last]

        def killed(*arguments: Any, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                # Nobody tidies up any more.
                monkeypatch.setattr(Target, "abandon", lambda _self: None)
                raise KeyboardInterrupt
            real(*arguments)

        monkeypatch.setattr(files.Writer, "write", killed)
        with pytest.raises(KeyboardInterrupt):
            pod.apply(change("new", b"new"), contents=NEW)
        assert (pod.target.exists(), len(tree(incoming))) == (False, last)
        monkeypatch.undo()
    pod.apply(change("new", b"new"), contents=NEW)
    assert (pod.target / "new").read_bytes() == b"new"


def test_an_empty_target_is_never_taken_for_a_finished_one(pod: Pod, tmp_path: Path) -> None:
    digest = forged(pod.capsule, {"version": 1, "base": pod.base, "changes": []})
    write(tmp_path, {".target.capsule": digest})
    pod.target.mkdir()
    pod.run(digest)
    assert tree(pod.target).keys() == {b"a", b"folder/b", b"folder/link"}


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_what_is_in_the_way_stays(pod: Pod, tmp_path: Path, kind: str) -> None:
    if kind == "folder":
        write(pod.target, {"mine": "x"})
    elif kind == "file":
        pod.target.write_text("mine")
    else:
        pod.target.symlink_to(tmp_path / "repository")
    before = tree(tmp_path)
    assert "is there already" in pod.refuse(NO_TARGET)
    pod.capsule.unlink()
    assert tree(tmp_path) == before


def test_a_target_that_cannot_be_made_says_why(pod: Pod, tmp_path: Path) -> None:
    pod.target = tmp_path / "nowhere" / "target"
    with pytest.raises(RefusedError, match="No such file") as it:
        pod.apply()
    assert it.value.code == NO_TARGET


def test_a_capsule_has_to_have_its_digest(pod: Pod, tmp_path: Path) -> None:
    digest = forged(pod.capsule, {"version": 1, "base": pod.base, "changes": []})
    pod.capsule.write_bytes(pod.capsule.read_bytes() + b"\0")
    assert "digest" in pod.refuse(BAD_CAPSULE, digest)
    pod.capsule = tmp_path / "nowhere.tar.gz"
    assert "cannot be read" in pod.refuse(BAD_CAPSULE, digest)


@pytest.mark.parametrize(
    "data", [b"", b"no archive", b"\x1f\x8b\x08\x04", b"\x1f\x8b" + b"\0" * 99, zlib.compress(b"x")]
)
def test_what_is_no_archive_is_refused(pod: Pod, data: bytes) -> None:
    pod.capsule.write_bytes(data)
    pod.refuse(BAD_CAPSULE, hashlib.sha256(data).hexdigest())


def test_a_capsule_that_is_cut_off_is_refused(pod: Pod) -> None:
    content = os.urandom(50_000)
    name = f"content/{hashlib.sha256(content).hexdigest()}"
    about = {"version": 1, "base": pod.base, "changes": [change("new", content)]}
    forged(pod.capsule, about, {name: content})
    data = pod.capsule.read_bytes()[:-20_000]
    pod.capsule.write_bytes(data)
    pod.refuse(BAD_CAPSULE, hashlib.sha256(data).hexdigest())


@pytest.mark.parametrize(
    "about",
    [
        b"no json",
        b"[" * 100_000,
        b"[]",
        b"null",
        {},
        {"version": 2},
        {"version": 1, "base": "HEAD", "changes": []},
        {"version": 1, "base": "0" * 41, "changes": []},
        {"version": 1, "base": "0" * 40, "changes": 7},
        {"version": 1, "base": "0" * 40, "changes": [7]},
    ],
)
def test_an_invalid_manifest_is_refused(pod: Pod, about: object) -> None:
    pod.refuse(BAD_CAPSULE, forged(pod.capsule, about))


@pytest.mark.parametrize(
    "wrong",
    [
        {"path": 7},
        {"path": "\ud800"},
        {"base": "main"},
        {"kind": "device"},
        {"kind": "link", "mode": "120000"},
        {"mode": "104755"},
        {"mode": "120000"},
        {"mode": 33188},
        {"size": "3"},
        {"size": 4},
        {"sha256": "../" * 20},
        {"sha256": "0" * 64},
        {"kind": "link", "mode": "100644", "target": "a"},
        {"kind": "link", "mode": "120000", "target": "a"},
    ],
)
def test_an_invalid_change_is_refused(pod: Pod, wrong: dict[str, object]) -> None:
    pod.refuse(BAD_CAPSULE, "", change("new", b"new") | wrong, contents=NEW)


def test_paths_come_in_order_and_once(pod: Pod) -> None:
    for paths in (["b", "a"], ["b", "b"]):
        said = pod.refuse(BAD_CAPSULE, "", *(change(p, b"new") for p in paths), contents=NEW)
        assert "not in order" in said


HOSTILE = [
    *("../out", "/out", "a/../../out", "..", "a/..", "", ".", "a//b", "a/./b", "a/", "a\0b"),
    *(".git/hooks/post-checkout", ".GIT/config", "x/.Git/x", ".git", "git~1/x", ".git. /x"),
    *(".git::$INDEX_ALLOCATION/x", ".g\u200cit/x", "a\\.git\\x", "\u212a/.GI\u200dT"),
    *("x" * 256, "/".join("x" * 300), "/".join(["y" * 200] * 30)),
]


@pytest.mark.parametrize("path", HOSTILE)
def test_hostile_paths_are_refused(pod: Pod, path: str) -> None:
    assert problem(path.encode("utf-8"))
    pod.refuse(BAD_CAPSULE, "", change(path, b"new"), contents=NEW)


@pytest.mark.parametrize(
    "path", ["a\nb", "-rf", ".gitignore", "git", "a.git", "\udcff", "ä", "..."]
)
def test_odd_paths_are_none_the_worse(pod: Pod, path: str) -> None:
    pod.apply(change(path, b"new"), contents=NEW)
    assert tree(pod.target)[os.fsencode(path)] == ("file", b"new")


@pytest.mark.parametrize(
    "target", ["/etc", "..", "../../x", "folder/..", "folder/../../x", "", "a\0b", "x" * 5000]
)
def test_links_that_lead_out_are_refused(pod: Pod, target: str) -> None:
    assert link_problem(b"out", os.fsencode(target))
    said = pod.refuse(NO_FIT, "", link("out", target))
    assert "the link `out` leads" in said


def test_nothing_is_written_through_a_link(pod: Pod, tmp_path: Path) -> None:
    write(tmp_path, {"outside/x": "x"})
    said = pod.refuse(NO_FIT, "", link("d", "folder"), change("d/new", b"new"), contents=NEW)
    assert said == "`d` does not apply: it is a file and a folder"
    assert clash([b"a/b/c", b"a/b", b"x"]) == b"a/b"
    # Nor through one in the repository.
    (pod.repository / "d").symlink_to("folder")
    pod.base = commit(pod.repository)
    assert "`d`" in pod.refuse(NO_FIT, "", change("d/new", b"new"), contents=NEW)


@pytest.mark.parametrize("path", [b"way/new", b"folder/way/new", b"way/folder/new"])
def test_a_writer_goes_through_no_link(tmp_path: Path, path: bytes) -> None:
    """A second lock on the same door, should names ever be let through that clash."""
    write(tmp_path, {"top/folder/x": "x", "outside/x": "x", "outside/folder/x": "x"})
    for way in ("top/way", "top/folder/way"):
        (tmp_path / way).symlink_to(tmp_path / "outside")
    with files.Writer(tmp_path / "top") as writer:
        with pytest.raises(NotADirectoryError):
            writer.write(path, 0o644, [b"new"])
        with pytest.raises(NotADirectoryError):
            writer.link(path, b"x")
        with pytest.raises(NotADirectoryError):
            list(writer.read(path.replace(b"new", b"x")))
    assert not list(tmp_path.glob("outside/**/new"))


def test_a_link_may_lead_anywhere_within(pod: Pod) -> None:
    pod.apply(link("folder/up", "../a"), link("to", "./folder//b"))
    assert (pod.target / "folder/up").read_text() == "a\n"
    assert (pod.target / "to").read_text() == "b\n"


def test_each_change_finds_what_it_expects(pod: Pod) -> None:
    other = pod.blob("folder/b")
    gone = {"path": "a", "base": other, "kind": "deleted"}
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("a", change("a", b"new")),
        ("a", change("a", b"new", base=other)),
        ("new", change("new", b"new", base=other)),
        ("a", gone),
        ("x", gone | {"path": "x"}),
        ("folder", change("folder", b"new")),
    ]
    for path, each in wrong:
        assert f"`{path}` does not apply" in pod.refuse(NO_FIT, "", each, contents=NEW)
    pod.apply(gone | {"base": pod.blob("a")})
    assert b"a" not in tree(pod.target)


def test_the_first_file_that_does_not_apply_is_named_readably(pod: Pod) -> None:
    odd = change("\x1b[31m\n\udcff", b"new", base=pod.blob("a"))
    said = pod.refuse(NO_FIT, "", odd, change("z", b"new", base=pod.blob("a")), contents=NEW)
    assert said.startswith("`\\x1b[31m\\n\\\\xff` does not apply")


@pytest.mark.parametrize(
    "contents",
    [
        {},
        {"content/" + "0" * 64: b"new"},
        NEW | {"content/extra": b"x"},
        NEW | {"../out": b"x"},
        dict.fromkeys(NEW, b"other"),
        {name.replace("content/", "/etc/xxx"): b"new" for name in NEW},
    ],
)
def test_contents_are_exactly_those_of_the_changes(pod: Pod, contents: dict[str, bytes]) -> None:
    pod.refuse(BAD_CAPSULE, "", change("new", b"new"), contents=contents)


def test_a_member_that_is_no_file_is_refused(pod: Pod) -> None:
    about = {"version": 1, "base": pod.base, "changes": [change("new", b"new")]}
    digest = forged(pod.capsule, about, NEW, type=b"2", linkname="/etc/passwd", size=0)
    pod.refuse(BAD_CAPSULE, digest)


def test_a_content_that_is_another_one_is_noticed(pod: Pod) -> None:
    contents = dict.fromkeys(NEW, b"wen")
    said = pod.refuse(BAD_TREE, "", change("new", b"new"), contents=contents)
    assert said == "`new` is not what was written"


def test_a_content_of_several_files_travels_once(pod: Pod) -> None:
    names = ["folder/x", "new", "x/y/z"]
    pod.apply(*(change(name, b"new", mode="100755") for name in names), contents=NEW)
    found = tree(pod.target)
    assert [found[os.fsencode(name)] for name in names] == [("program", b"new")] * 3


def test_a_disk_that_lies_is_noticed(pod: Pod, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fchmod", lambda *_: None)
    assert "`a` is not what was written" in pod.refuse(BAD_TREE)
    monkeypatch.undo()
    monkeypatch.setattr(files.Writer, "link", lambda *_: None)
    assert "`folder/link` is missing" in pod.refuse(BAD_TREE)


def test_a_repository_without_the_commit_is_refused(pod: Pod, tmp_path: Path) -> None:
    said = pod.refuse(BAD_REPOSITORY, "", base="0" * 40)
    assert said == "the repository has no commit " + "0" * 40
    pod.refuse(BAD_REPOSITORY, "", base=pod.blob("a"))
    pod.repository = tmp_path / "nowhere"
    pod.refuse(BAD_REPOSITORY)


def test_a_git_that_has_ended_before_it_is_asked_is_the_repositorys_fault(tmp_path: Path) -> None:
    found = objects.Objects(str(tmp_path / "nowhere"))
    found._git.wait()  # noqa: SLF001 - it ends by itself, sooner or later
    with pytest.raises(RefusedError) as it, found:
        found.tree("0" * 40)
    assert it.value.code == BAD_REPOSITORY


def test_an_image_without_git_says_so(
    pod: Pod, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "there is no `git`" in pod.refuse(BAD_REPOSITORY)


def stored(pod: Pod, kind: str, data: bytes) -> str:
    """Write an object as it is, whatever git thinks of it."""
    oid = hashlib.sha1(f"{kind} {len(data)}\0".encode() + data).hexdigest()  # noqa: S324 - git's
    replace(pod, oid, kind, data)
    return oid


def replace(pod: Pod, oid: str, kind: str, data: bytes) -> None:
    file = pod.repository / ".git/objects" / oid[:2] / oid[2:]
    file.parent.mkdir(exist_ok=True)
    file.unlink(missing_ok=True)
    file.write_bytes(zlib.compress(f"{kind} {len(data)}\0".encode() + data))


def committed(pod: Pod, tree_data: bytes) -> str:
    about = f"tree {stored(pod, 'tree', tree_data)}\nauthor x <x> 0 +0000\n\nx\n"
    return stored(pod, "commit", about.encode())


def test_an_object_that_is_not_what_it_is_called_is_refused(pod: Pod) -> None:
    replace(pod, pod.blob("a"), "blob", b"hostile\n")
    assert "is another one" in pod.refuse(BAD_REPOSITORY)
    pod.target.with_name("capsule.tar.gz").unlink()
    (pod.repository / ".git/objects" / pod.blob("a")[:2] / pod.blob("a")[2:]).unlink()
    assert "has no blob" in pod.refuse(BAD_REPOSITORY)


@pytest.mark.parametrize(
    "name", [b"..", b".", b"", b".git", b".GIT", b"git~1", b"a/b", b"../out", b"x" * 256]
)
@pytest.mark.parametrize("mode", [b"100644", b"40000"])
def test_hostile_trees_are_refused(pod: Pod, name: bytes, mode: bytes) -> None:
    blob = stored(pod, "blob" if mode == b"100644" else "tree", b"")
    pod.base = committed(pod, mode + b" " + name + b"\0" + bytes.fromhex(blob))
    assert "the commit has `" in pod.refuse(BAD_REPOSITORY)


def test_a_commit_with_a_link_that_leads_out_is_refused(pod: Pod) -> None:
    out = stored(pod, "blob", b"/etc")
    pod.base = committed(pod, b"120000 out\0" + bytes.fromhex(out))
    assert "the link `out` leads out" in pod.refuse(NO_FIT)
    # The same name twice, as a link and as a folder to be written through it.
    inside = stored(pod, "blob", b"folder")
    sub = stored(pod, "tree", b"100644 x\0" + bytes.fromhex(inside))
    link_entry = b"120000 d\0" + bytes.fromhex(inside)
    folder_entry = b"40000 d\0" + bytes.fromhex(sub)
    pod.base = committed(pod, folder_entry + link_entry)
    assert "`d` does not apply" in pod.refuse(NO_FIT)
    for second in (link_entry, folder_entry):
        pod.base = committed(pod, link_entry + second)
        assert "`d`, which is there twice" in pod.refuse(BAD_REPOSITORY)


@pytest.mark.parametrize("data", [b"100644 a", b"100644 a\0short", b"rwx a\0" + b"x" * 20, b"\0"])
def test_broken_trees_are_refused(pod: Pod, data: bytes) -> None:
    pod.base = committed(pod, data)
    pod.refuse(BAD_REPOSITORY)


def test_a_tree_that_unfolds_without_end_is_refused(
    pod: Pod, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "_MOST_PATHS", 1000)
    oid = stored(pod, "blob", b"")
    mode = b"100644"
    for _ in range(10):
        data = b"".join(mode + b" %d\0" % n + bytes.fromhex(oid) for n in range(10))
        oid, mode = stored(pod, "tree", data), b"40000"
    pod.base = stored(pod, "commit", f"tree {oid}\n\n".encode())
    assert "too many files" in pod.refuse(BAD_REPOSITORY)


def test_old_modes_and_submodules_are_as_git_takes_them(pod: Pod) -> None:
    blob = bytes.fromhex(stored(pod, "blob", b"x"))
    pod.base = committed(pod, b"100664 a\0" + blob + b"160000 sub\0" + blob + b"100775 x\0" + blob)
    pod.apply()
    assert tree(pod.target) == {b"a": ("file", b"x"), b"x": ("program", b"x")}


def test_nothing_that_the_repository_names_is_run(pod: Pod, tmp_path: Path) -> None:
    spy = f"touch {tmp_path / 'ran'}; cat"
    write(pod.repository, {".gitattributes": "* filter=spy text eol=crlf\n"})
    pod.base = commit(pod.repository)
    keys = ["filter.spy.smudge", "filter.spy.process", "core.fsmonitor", "core.sshCommand"]
    for key in [*keys, "uploadpack.packObjectsHook", "remote.origin.vcs"]:
        git(pod.repository, "config", key, spy)
    for hook in ("post-checkout", "reference-transaction", "post-index-change"):
        write(pod.repository, {f".git/hooks/{hook}": f"#!/bin/sh\n{spy}\n"})
        (pod.repository / ".git/hooks" / hook).chmod(0o755)
    # A missing object is not fetched either.
    git(pod.repository, "config", "extensions.partialClone", "origin")
    git(pod.repository, "config", "remote.origin.promisor", "true")
    git(pod.repository, "config", "remote.origin.url", f"ext::sh -c '{spy}'")
    before = tree(pod.repository)
    pod.apply()
    assert tree(pod.target)[b"a"] == ("file", b"a\n")
    pod.target = tmp_path / "second"
    assert "has no commit" in pod.refuse(BAD_REPOSITORY, "", base="0" * 40)
    assert tree(pod.repository) == before
    assert not (tmp_path / "ran").exists()
    git(pod.repository, "checkout", "-q", "-f", "HEAD", "--", "a")
    assert (tmp_path / "ran").exists()


def test_no_object_is_replaced(pod: Pod) -> None:
    git(pod.repository, "replace", pod.blob("a"), pod.blob("folder/b"))
    pod.apply()
    assert tree(pod.target)[b"a"] == ("file", b"a\n")


def test_it_needs_nothing_but_an_old_python() -> None:
    for file in Path(applying.__file__).parent.glob("*.py"):
        parsed = ast.parse(file.read_text(), feature_version=(3, 10))
        for node in ast.walk(parsed):
            if isinstance(node, ast.ImportFrom):
                assert node.level == 1 or not str(node.module).startswith("devctl")
