"""Install the collections that requirements.yml pins from an ``ansible`` wheel or sdist.

For machines that can reach a Python package index but not Ansible Galaxy.
TARGET/ansible_collections/<namespace>/<name> holds each collection afterwards, so TARGET is a
collections path of Ansible's. A version that the archive does not carry exactly as pinned installs
nothing: pip's hash vouches for the archive, this check for what we say is in it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_ROOT = "ansible_collections"
Files = dict[str, dict[PurePosixPath, bytes]]  # contents by collection and path inside it


class CollectionError(Exception):
    """What is wrong, in one line for the user."""


def read_pins(requirements: Path) -> dict[str, str]:
    """The collections of a requirements.yml and the one version that each is pinned to.

    Raises:
        CollectionError: The file cannot be read or has another shape.
    """
    try:
        entries = yaml.safe_load(requirements.read_text(encoding="utf-8"))["collections"]
        pins = {str(entry["name"]): str(entry["version"]) for entry in entries}
    except OSError as error:
        raise CollectionError(f"`{requirements}` cannot be read: {error.strerror}") from error
    except (KeyError, TypeError, yaml.YAMLError) as error:
        message = f"`{requirements}` is no list of collections with a name and a version each"
        raise CollectionError(message) from error
    for name in pins:
        if not all(part.isidentifier() for part in name.split(".")) or name.count(".") != 1:
            raise CollectionError(f"`{name}` is no collection's name")
    return pins


def read_files(archive: Path, names: Sequence[str]) -> Files:
    """Every file of the named collections.

    Raises:
        CollectionError: The archive cannot be read, or a path leads outside its collection.
    """
    found: Files = {name: {} for name in names}
    try:
        for path, content in _members(archive, {tuple(name.split(".")) for name in names}):
            if ".." in path.parts:
                raise CollectionError(f"`{archive.name}` holds the unsafe path `{path}`")
            namespace, name, *rest = path.parts
            found[f"{namespace}.{name}"][PurePosixPath(*rest)] = content
    except (OSError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise CollectionError(f"`{archive}` is no readable wheel or sdist") from error
    return found


def verify(archive: Path, pins: Mapping[str, str], files: Files) -> None:
    """Compare what the archive carries with the pins.

    Raises:
        CollectionError: A collection is missing or of another version; names both.
    """
    for name, pin in pins.items():
        manifest = files[name].get(PurePosixPath("MANIFEST.json"))
        if manifest is None:
            raise CollectionError(f"`{archive.name}` does not carry `{name}`")
        carried = json.loads(manifest)["collection_info"]["version"]
        if carried != pin:
            raise CollectionError(
                f"`{archive.name}` carries `{name}` {carried}, not {pin} as pinned"
            )


def install(archive: Path, requirements: Path, target: Path) -> dict[str, str]:
    """Install all pinned collections, or none; returns names and versions.

    Raises:
        CollectionError: The archive does not carry exactly what is pinned.
    """
    pins = read_pins(requirements)
    files = read_files(archive, list(pins))
    verify(archive, pins, files)
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target, prefix=".partial-") as temporary:
        for name, members in files.items():
            staged = Path(temporary, name)
            for path, content in members.items():
                file = staged / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
            final = target.joinpath(_ROOT, *name.split("."))
            shutil.rmtree(final, ignore_errors=True)
            final.parent.mkdir(parents=True, exist_ok=True)
            staged.rename(final)
    return pins


def _members(archive: Path, wanted: set[tuple[str, ...]]) -> Iterator[tuple[PurePosixPath, bytes]]:
    """Files of the wanted collections; their paths start at the collection's namespace."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as wheel:
            for info in wheel.infolist():
                path = PurePosixPath(info.filename)
                if not info.is_dir() and path.parts[0] == _ROOT and path.parts[1:3] in wanted:
                    yield path.relative_to(_ROOT), wheel.read(info)
        return
    with tarfile.open(archive) as sdist:
        for member in sdist:
            # An sdist has one folder more at its top: `ansible-<version>`.
            path = PurePosixPath(*PurePosixPath(member.name).parts[1:])
            if member.isfile() and path.parts[:1] == (_ROOT,) and path.parts[1:3] in wanted:
                stream = sdist.extractfile(member)
                yield path.relative_to(_ROOT), stream.read() if stream else b""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as a command: 0 when everything pinned is installed, 1 with one line otherwise."""
    parser = argparse.ArgumentParser(description="Install the collections that are pinned.")
    parser.add_argument("archive", type=Path, help="the ansible package, wheel or sdist")
    parser.add_argument("requirements", type=Path, help="the requirements.yml with the pins")
    parser.add_argument("target", type=Path, help="the collections path to install into")
    options = parser.parse_args(arguments)
    try:
        installed = install(options.archive, options.requirements, options.target)
    except CollectionError as error:
        sys.stderr.write(f"install_collections: {error}\n")
        return 1
    for name, version in installed.items():
        sys.stdout.write(f"installed {name} {version}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
