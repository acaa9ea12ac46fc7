"""What is sent is an archive that any reader takes."""

from __future__ import annotations

import io
import tarfile
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.client.files.archive import BROKEN, END, Members, pack
from devctl.client.files.local import entry

NAMES = st.text("ab\n -$ü\udcff", min_size=1, max_size=60)


@given(st.dictionaries(NAMES, st.binary(max_size=2000), max_size=4), st.lists(NAMES, max_size=3))
def test_two_readers_agree_on_it(files: dict[str, bytes], deleted: list[str]) -> None:
    with tempfile.TemporaryDirectory() as above:
        root = Path(above)
        for name, content in files.items():
            (root / name).write_bytes(content)
        data = bytearray()
        entries = [entry(root, name) for name in files]
        assert pack(data.extend, root, entries, {"delete": deleted}) == []
    wanted = {f"files/{name}": content for name, content in files.items()}
    listed = b"".join(b"./" + name.encode(errors="surrogateescape") + b"\0" for name in deleted)
    wanted = {"lists/delete": listed, **wanted, f"lists/{BROKEN}": b""}
    options = {"encoding": "utf-8", "errors": "surrogateescape"}
    with tarfile.open(fileobj=io.BytesIO(data), **options) as tar:  # type: ignore[call-overload]
        theirs = {member.name: tar.extractfile(member).read() for member in tar}
    members = Members(iter([bytes(data), END]))
    ours = {member.name: b"".join(members.read()) for member in members}
    assert list(theirs.items()) == list(ours.items()) == list(wanted.items())


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o4755])
def test_modes_and_times_go_along(mode: int, tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    (tmp_path / "a").chmod(mode)
    data = bytearray()
    found = entry(tmp_path, "a")
    pack(data.extend, tmp_path, [found], {})
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        member = tar.getmember("files/a")
    assert (member.mode, member.mtime) == (mode & 0o777, found.mtime)
    assert (member.uid, member.gid, member.uname) == (0, 0, "")


def test_a_name_that_is_a_link_by_now_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    (tmp_path / "secret").write_text("y")
    found = entry(tmp_path, "a")
    (tmp_path / "a").unlink()
    (tmp_path / "a").symlink_to("secret")
    data = bytearray()
    assert pack(data.extend, tmp_path, [found], {}) == ["a"]
    assert b"y" not in bytes(data).replace(b"lists", b"")
