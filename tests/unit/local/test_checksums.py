from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.errors import HostError
from devctl.local.checksums import SUMS, read_sums, verify, write_sums

if TYPE_CHECKING:
    from collections.abc import Callable

names = st.text("abcXYZ019-_. ", min_size=1, max_size=12).filter(lambda n: n.strip(". "))
contents = st.dictionaries(names, st.binary(max_size=64), min_size=1, max_size=4)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "etcd").write_bytes(b"one")
    (tmp_path / "kubelet").write_bytes(b"two")
    write_sums(tmp_path)
    return tmp_path


@given(contents, st.data())
def test_what_was_recorded_passes_until_one_byte_differs(
    files: dict[str, bytes], data: st.DataObject
) -> None:
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name, content in files.items():
            (folder / name).write_bytes(content)
        write_sums(folder)
        assert read_sums(folder).keys() == files.keys()
        verify(folder)
        name = data.draw(st.sampled_from(sorted(files)))
        damaged = bytearray(files[name] or b"\0")
        damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= 1
        (folder / name).write_bytes(damaged)
        with pytest.raises(HostError, match="is corrupt") as raised:
            verify(folder)
        assert f"`{folder / name}`" in raised.value.message
        assert str(folder) in raised.value.fix


def test_a_missing_file_is_named(folder: Path) -> None:
    (folder / "kubelet").unlink()
    with pytest.raises(HostError, match=r"kubelet` is missing"):
        verify(folder)


def test_a_folder_that_was_never_built_is_not_one_to_remove(folder: Path) -> None:
    with pytest.raises(HostError, match="does not exist: its sources changed") as raised:
        verify(folder / "other")
    assert "remove" not in raised.value.fix


def test_only_the_files_asked_for_are_read(folder: Path) -> None:
    (folder / "kubelet").write_bytes(b"damaged")
    verify(folder, ["etcd"])
    with pytest.raises(HostError, match="kubelet"):
        verify(folder, ["etcd", "kubelet"])


@pytest.mark.parametrize(
    "lose", [Path.unlink, lambda sums: sums.write_text("")], ids=["removed", "emptied"]
)
def test_a_folder_that_lost_its_checksums_does_not_pass(
    folder: Path, lose: Callable[[Path], object]
) -> None:
    lose(folder / SUMS)
    with pytest.raises(HostError, match="has no checksums"):
        verify(folder)


def test_a_file_that_was_never_recorded_does_not_pass(folder: Path) -> None:
    (folder / "new").write_bytes(b"three")
    with pytest.raises(HostError, match="new"):
        verify(folder, ["new"])
