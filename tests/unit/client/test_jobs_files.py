"""Files to a volume and from it: as they were, and whatever they are called."""

from __future__ import annotations

import doctest
import os
import posixpath
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devctl.client.files import remote as files_remote
from devctl.client.files.local import select
from devctl.client.files.names import Withheld
from devctl.client.jobs import copy_url
from devctl.client.jobs import files as jobs_files
from devctl.client.jobs.copy_url import target_path
from devctl.client.jobs.fetch import Limits
from devctl.client.jobs.files import DIGESTS, LIST, choose, parse_digests
from devctl.errors import DevctlError, UsageError
from unit.client.job_things import FILES, place, volume_of_a_job
from unit.client.pods import tree

ODD = [
    "; rm -rf .",
    "$(touch evil)",
    "`touch evil`",
    "-rf",
    "--help",
    "a\nb",
    "a\\nb",
    "a\rb",
    "\\",
    "'\"",
    " ",
    "*",
    "ü€",
    "a" * 200,
]
NAMES = st.text(
    st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=40
).filter(lambda name: name not in {".", ".."} and len(name.encode()) < 200)


@pytest.mark.parametrize("module", [copy_url, jobs_files])
def test_examples(module: Any) -> None:
    assert doctest.testmod(module).failed == 0


def test_the_contents_of_a_folder_land_at_the_root(here: Path, there: Path) -> None:
    """A trap of the seed: its upload unpacked outside of the mount."""
    (here / "deep" / "empty").mkdir(parents=True)
    for name in ODD:
        (here / "deep" / name).write_text(name)
    (here / "link").symlink_to("deep")
    (here / ".env").write_text("PASSWORD=x")
    (here / ".gitignore").write_text("*.log\n")
    (here / "run.log").write_text("ignored")
    selection = choose(here)
    moved: list[int] = []
    done = FILES.upload("my-job", selection, moved.append)
    assert selection.secrets == [".env"]
    assert tree(there) == {".gitignore": b"*.log\n"} | {
        f"deep/{name}": name.encode() for name in ODD
    }
    assert (there / "link").readlink() == Path("deep")
    assert (there / "deep" / "empty").is_dir()
    assert done.size >= sum(len(name.encode()) for name in ODD)
    assert sum(moved) > done.size
    assert sorted(os.listdir(there)) == [".gitignore", "deep", "link"]  # noqa: PTH208 - names alone


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(NAMES, st.binary(max_size=30), max_size=5))
def test_any_name_arrives_and_does_nothing_else(
    monkeypatch: pytest.MonkeyPatch, files: dict[str, bytes]
) -> None:
    with tempfile.TemporaryDirectory() as above:
        source, target_folder = Path(above) / "here", Path(above) / "there"
        source.mkdir()
        target_folder.mkdir()
        volume_of_a_job(target_folder, monkeypatch)
        for name, content in files.items():
            (source / name).write_bytes(content)
        selection = select(source, list(files), secrets=True)
        FILES.upload("my-job", selection)
        assert tree(target_folder) == files
        assert sorted(os.listdir(above)) == ["here", "there"]  # noqa: PTH208


@pytest.mark.parametrize("kind", ["fifo", "absolute", "above", "socket"])
def test_what_leaves_the_folder_or_is_no_file_keeps_all_of_it_here(
    kind: str, here: Path, there: Path
) -> None:
    (here / "main.py").touch()
    if kind == "fifo":
        os.mkfifo(here / "odd")
    elif kind == "socket":
        os.mknod(here / "odd", 0o140600)
    else:
        (here / "odd").symlink_to("/etc/passwd" if kind == "absolute" else "../../secret")
    with pytest.raises(DevctlError, match="nothing was sent: `odd`"):
        choose(here)
    assert tree(there) == {}


def test_what_is_no_folder_is_refused(here: Path) -> None:
    (here / "file").touch()
    for name in ("file", "missing"):
        with pytest.raises(UsageError, match="is not a folder"):
            choose(here / name)


def test_what_arrives_otherwise_is_noticed(
    here: Path, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        (here / name).write_text(name)
    broken = 'cd -- "$1" || exit; echo x > a; rm b\n' + DIGESTS
    monkeypatch.setattr(jobs_files, "DIGESTS", broken)
    with pytest.raises(DevctlError, match=r"sha256sum: ./b: No such file"):
        FILES.upload("my-job", choose(here))
    monkeypatch.setattr(jobs_files, "DIGESTS", broken.replace("; rm b", ""))
    with pytest.raises(DevctlError, match="`a` did not arrive intact in `artifacts-my-job:/art"):
        FILES.upload("my-job", choose(here))
    assert there.is_dir()


def test_a_file_that_was_never_sent_is_noticed(
    here: Path, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "a").write_text("a")
    monkeypatch.setattr(files_remote, "pack", lambda *_, **__: [])
    monkeypatch.setattr(files_remote, "receive", lambda _place, feed: feed(bytes))
    (there / "a").write_text("older")
    with pytest.raises(DevctlError, match="did not arrive"):
        FILES.upload("my-job", choose(here))


def test_each_way_of_writing_a_name_is_read(tmp_path: Path) -> None:
    for name in ODD:
        (tmp_path / name).write_text(name)
    argv = ["sha256sum", "--", *(f"./{name}" for name in ODD)]
    said = subprocess.run(argv, cwd=tmp_path, capture_output=True, check=True).stdout
    assert list(parse_digests(said, ODD)) == ODD
    plain = b"".join(b"0" * 64 + b"  ./" + os.fsencode(name) + b"\n" for name in ODD)
    assert list(parse_digests(plain, ODD)) == ODD
    assert parse_digests(said[:50], ODD) == {}


def test_files_come_back_as_they_are(here: Path, there: Path) -> None:
    (there / "deep").mkdir()
    (there / "deep" / "result.json").write_text("{}")
    (there / ".git").mkdir()
    (there / ".git" / "config").write_text("[core] fsmonitor = evil")
    (there / "link").symlink_to("deep/result.json")
    (there / "bad\nname").touch()
    (there / "out").symlink_to("/etc")
    (there / "lost+found").mkdir()
    (there / "lost+found" / "x").touch()
    os.mkfifo(there / "pipe")
    listed = {file.name: file for file in FILES.list("my-job")}
    assert sorted(listed) == [".git/config", "bad\nname", "deep/result.json", "link", "out"]
    assert listed["deep/result.json"].size == 2
    assert listed["link"].link
    into = here / "new" / "results"
    done = FILES.download("my-job", into)
    assert tree(into) == {"deep/result.json": b"{}"}
    assert (into / "link").readlink() == Path("deep/result.json")
    assert sorted(line.partition(":")[0] for line in done.left_out) == ["`bad\\nname`", "`out`"]
    assert (done.files, done.changed, done.git) == (2, [], Withheld(1, (".git",)))
    assert FILES.download("my-job", into).files == 2


def test_nothing_here_is_replaced_by_something_else(here: Path, there: Path) -> None:
    (there / "a").write_text("theirs")
    (here / "a").write_text("mine")
    with pytest.raises(DevctlError, match="`a` would be replaced"):
        FILES.download("my-job", here)
    assert tree(here) == {"a": b"mine"}
    with pytest.raises(UsageError, match="is not a folder"):
        FILES.download("my-job", here / "a")


@pytest.mark.parametrize("name", ["../evil", "/evil", "a/../../evil"])
def test_names_that_no_honest_pod_tells_end_it(
    name: str, here: Path, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs_files, "LIST", f"printf '{name}\\0\\0\\0'")
    with pytest.raises(DevctlError, match="leads out of the folder"):
        FILES.download("my-job", here)
    assert tree(here) == tree(there) == {}


def test_a_list_that_is_cut_off_is_not_taken_for_all_there_is(
    here: Path, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what a command prints last, not everything need arrive, and nobody says so."""
    (there / "a").touch()
    monkeypatch.setattr(jobs_files, "LIST", LIST.replace("printf '\\0\\0'", ""))
    with pytest.raises(DevctlError, match="did not arrive as a whole"):
        FILES.download("my-job", here)


def test_an_empty_volume_is_no_error(here: Path, there: Path) -> None:
    assert FILES.list("my-job") == []
    assert FILES.download("my-job", here).files == 0
    assert there.is_dir()


def fetched(monkeypatch: pytest.MonkeyPatch, *pieces: bytes | Exception) -> None:
    def fetch(_url: str, _limits: Limits, _announced: Any) -> Any:
        for piece in pieces:
            if isinstance(piece, Exception):
                raise piece
            yield piece

    monkeypatch.setattr(copy_url, "fetch", fetch)


@pytest.mark.parametrize("name", [*(n for n in ODD if n.isprintable()), "deep/er/file"])
def test_a_url_becomes_a_file_of_any_name(
    name: str, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched(monkeypatch, b"ima", b"ge")
    (there / "other").write_text("stays")
    path = target_path(posixpath.join("/artifacts", name))
    done = copy_url.copy_url(place(), "http://a/", path, Limits())
    assert tree(there) == {name: b"image", "other": b"stays"}
    assert (done.path, done.size) == (path, 5)


@pytest.mark.parametrize("error", [DevctlError("too large"), OSError("gone")])
def test_what_does_not_come_as_a_whole_leaves_the_older_file(
    error: Exception, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (there / "input.jpg").write_text("older")
    fetched(monkeypatch, b"half", error)
    with pytest.raises(type(error)):
        copy_url.copy_url(place(), "http://a/", "/artifacts/input.jpg", Limits())
    assert tree(there) == {"input.jpg": b"older"}


@pytest.mark.parametrize(
    "script",
    [
        # The command ends before it has been sent all: containerd says so where nobody holds its
        # output any more, and an empty file must not be taken for a whole one.
        'printf +; : > "$1/$2/$3"; exit 0',
        'printf +; cat > "$1/$2/$3"; echo more >> "$1/$2/$3"; exit 0',
    ],
)
def test_what_arrives_otherwise_is_not_installed(
    script: str, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (there / "input.jpg").write_text("older")
    fetched(monkeypatch, b"image")
    monkeypatch.setattr(copy_url, "PUT", script)
    with pytest.raises(DevctlError, match=r"took only part of the file|did not arrive intact"):
        copy_url.copy_url(place(), "http://a/", "/artifacts/input.jpg", Limits())
    assert tree(there) == {"input.jpg": b"older"}


def test_a_part_that_looks_whole_is_not_installed(
    there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exec stream said `Success` while the feeding had not ended."""
    fetched(monkeypatch, b"image")

    def early(spot: Any, script: str, *arguments: str, feed: Any = None) -> bytes:
        nothing = (lambda _send: None) if feed else None
        return files_remote.ask(spot, script, *arguments, feed=nothing)

    monkeypatch.setattr(copy_url, "ask", early)
    with pytest.raises(DevctlError, match="took only part of the file"):
        copy_url.copy_url(place(), "http://a/", "/artifacts/input.jpg", Limits())
    assert tree(there) == {}


def test_a_folder_is_not_replaced_by_a_file(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (there / "input.jpg").mkdir()
    fetched(monkeypatch, b"image")
    with pytest.raises(DevctlError, match="Is a directory"):
        copy_url.copy_url(place(), "http://a/", "/artifacts/input.jpg", Limits())
    assert tree(there) == {}


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "/artifacts",
        "/artifacts/",
        "/artifacts/a/",
        "/artifacts/.",
        "/artifacts/a/.",
        "/artifactsx/a",
        "/etc/passwd",
        "//etc/passwd",
        "..",
        "../a",
        "a/../../b",
        "/artifacts/../etc/passwd",
        "/artifacts/a\nb",
        "/artifacts/a\x1b[31m",
        "/artifacts/a\0b",
        "/artifacts/\udcff",
        "/artifacts/" + "a" * 300,
        "/artifacts/" + "a/" * 600 + "b",
        "/artifacts/.devctl-incoming.x",
    ],
)
def test_paths_that_lead_elsewhere_are_refused(path: str) -> None:
    with pytest.raises(UsageError) as raised:
        target_path(path)
    assert raised.value.message.isprintable()
    assert raised.value.fix


@given(st.text(max_size=60))
def test_any_path_is_on_the_volume_or_refused(path: str) -> None:
    try:
        found = target_path(path)
    except UsageError:
        return
    assert found.startswith("/artifacts/")
    assert posixpath.normpath(found) == found
    assert not {"", ".", ".."} & set(found.split("/")[1:])
    assert target_path(found) == found
