"""Names of files: what is shown of them, and which may come from a pod."""

from __future__ import annotations

import doctest
import os
import posixpath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.client.files import amounts, names, remote, secret, sync, synced
from devctl.client.files.names import check_name, link_problem, named, readable, unshowable
from devctl.errors import DevctlError, UsageError

BYTES = st.binary(max_size=40).filter(lambda name: b"\0" not in name)


@pytest.mark.parametrize("module", [amounts, names, remote, secret, sync, synced])
def test_examples(module: Any) -> None:
    assert doctest.testmod(module).failed == 0


@given(BYTES.map(os.fsdecode) | st.text(max_size=40))
def test_any_name_can_be_shown(name: str) -> None:
    shown = readable(name)
    assert shown.isprintable()
    shown.encode()
    if name.isprintable():
        assert shown == name


def test_what_is_shown_of_many_names() -> None:
    assert named(["a\nb"]) == "`a\\nb`"
    assert named([str(number) for number in range(7)]).endswith("`4` and 2 more")
    assert readable("\x1b]0;title\x07") == "\\x1b]0;title\\x07"
    assert readable("a\u202eb\U000e0001") == "a\\u202eb\\U000e0001"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("a\nb", "holds control characters"),
        ("a\x1b[31m", "holds control characters"),
        ("a\u202eb", "holds control characters"),
        ("\udcff", "is not UTF-8"),
        ("ü €", ""),
    ],
)
def test_names_that_nobody_can_be_shown(name: str, why: str) -> None:
    assert unshowable(name) == why


@pytest.mark.parametrize(
    "name",
    [
        "",
        "/",
        "/etc/passwd",
        "..",
        "../a",
        "a/../../b",
        "a/..",
        "a//b",
        "a/",
        "./a",
        "a/./b",
        "a\nb",
        "\udcff",
        "x" * 256,
        "x/" * 2500 + "y",
    ],
)
def test_names_that_no_honest_pod_sends(name: str) -> None:
    with pytest.raises(DevctlError) as raised:
        check_name(name)
    assert raised.value.message.isprintable()
    assert raised.value.fix


@given(st.text(max_size=40) | st.from_regex(r"(\.\.?/|/|a){0,6}", fullmatch=True))
def test_a_name_that_is_taken_stays_in_its_folder(name: str) -> None:
    try:
        check_name(name)
    except DevctlError:
        return
    found = posixpath.normpath(posixpath.join("/top", name))
    assert found == f"/top/{name}"


@given(
    st.from_regex(r"(a/){0,3}l", fullmatch=True),
    st.from_regex(r"/?((\.\.|\.|a|b)/?){0,6}", fullmatch=True),
)
def test_a_link_that_is_taken_stays_in_its_folder(name: str, target: str) -> None:
    if link_problem(name, target):
        return
    found = posixpath.normpath(posixpath.join("/top", posixpath.dirname(name), target))
    assert found == "/top" or found.startswith("/top/")


@pytest.mark.parametrize("target", ["", "/", "/etc", "..", "a/..", "a/../..", "b/../c", "a\nb"])
def test_links_that_are_not_taken(target: str) -> None:
    assert link_problem("link", target)


@given(st.text(max_size=30))
def test_a_path_in_a_server_is_absolute_and_plain(path: str) -> None:
    try:
        found = remote.absolute(path)
    except UsageError:
        return
    assert found.startswith("/")
    assert posixpath.normpath(found) == found
    assert remote.absolute(found) == found
