"""What is chosen to be sent, and what keeps all of it here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from devctl.client.files import local
from devctl.client.files.local import entry, select
from devctl.errors import DevctlError, UsageError

if TYPE_CHECKING:
    from pathlib import Path


def test_a_selection(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("four")
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "empty").mkdir()
    (tmp_path / ".env").write_text("PASSWORD=x")
    (tmp_path / "key.txt").write_text("-----BEGIN " + "PRIVATE KEY-----\n" + "A" * 64)
    names = ["a", "link", "empty", ".env", "key.txt", "gone"]
    found = select(tmp_path, names)
    assert [each.path for each in found.entries] == ["a", "link", "empty"]
    assert found.secrets == [".env", "key.txt"]
    assert sum(each.size for each in found.entries) == 5
    assert entry(tmp_path, "link").target == "a"
    assert select(tmp_path, names, secrets=True).secrets == []
    # What has been sent as it is is not read again.
    assert select(tmp_path, names, known=lambda each: each.path == "key.txt").secrets == [".env"]


@pytest.mark.parametrize("kind", ["fifo", "socket", "absolute", "above", "unreadable", "large"])
def test_what_cannot_be_sent_keeps_all_of_it_here(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = tmp_path / "odd"
    if kind == "fifo":
        os.mkfifo(odd)
    elif kind == "socket":
        os.mknod(odd, 0o140600)
    elif kind in {"absolute", "above"}:
        odd.symlink_to("/etc/passwd" if kind == "absolute" else "../secret")
    else:
        odd.write_text("content")
        if kind == "large":
            monkeypatch.setattr(local, "LARGE", 3)
        else:
            # The superuser may read everything.
            monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(DevctlError, match="nothing was sent: `odd`") as raised:
        select(tmp_path, ["odd"])
    assert ".devctlignore" in raised.value.fix
    if kind == "large":
        assert isinstance(raised.value, UsageError)
        assert [each.size for each in select(tmp_path, ["odd"], large=True).entries] == [7]


def test_names_in_messages_can_be_shown(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a\x1b[31m\udcff")
    with pytest.raises(DevctlError) as raised:
        select(tmp_path, ["a\x1b[31m\udcff"])
    assert raised.value.message.isprintable()
