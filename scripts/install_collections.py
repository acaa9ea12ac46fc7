"""Install the collections that requirements.yml pins from an ``ansible`` wheel.

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
import tempfile
import zipfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_ROOT = "ansible_collections"


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
        message = f"`{requirements}` is not a list of collections with a name and a version each"
        raise CollectionError(message) from error
    for name in pins:
        if not all(part.isidentifier() for part in name.split(".")) or name.count(".") != 1:
            raise CollectionError(f"`{name}` is not the name of a collection")
    return pins


def members(wheel: zipfile.ZipFile, name: str) -> list[str]:
    """The files of a collection in a wheel.

    Raises:
        CollectionError: The path of one leads outside its collection.
    """
    folder = f"{_ROOT}/{name.replace('.', '/')}/"
    found = [path for path in wheel.namelist() if path.startswith(folder)]
    for path in found:
        if ".." in PurePosixPath(path).parts:
            raise CollectionError(f"`{wheel.filename}` holds the unsafe path `{path}`")
    return found


def verify(wheel: zipfile.ZipFile, pins: Mapping[str, str]) -> None:
    """Compare what a wheel carries with the pins.

    Raises:
        CollectionError: A collection is missing or of another version; names both.
    """
    for name, pin in pins.items():
        manifest = f"{_ROOT}/{name.replace('.', '/')}/MANIFEST.json"
        if manifest not in members(wheel, name):
            raise CollectionError(f"`{wheel.filename}` does not carry `{name}`")
        carried = json.loads(wheel.read(manifest))["collection_info"]["version"]
        if carried != pin:
            message = f"`{wheel.filename}` carries `{name}` {carried}, not {pin} as pinned"
            raise CollectionError(message)


def install(archive: Path, requirements: Path, target: Path) -> dict[str, str]:
    """Install all pinned collections, or none; returns names and versions.

    Raises:
        CollectionError: The archive does not carry exactly what is pinned.
    """
    pins = read_pins(requirements)
    try:
        wheel = zipfile.ZipFile(archive)
    except (OSError, zipfile.BadZipFile) as error:
        raise CollectionError(f"`{archive}` is not a readable wheel") from error
    with wheel:
        verify(wheel, pins)
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target, prefix=".partial-") as temporary:
            for name in pins:
                wheel.extractall(temporary, members(wheel, name))
            for name in pins:
                final = target.joinpath(_ROOT, *name.split("."))
                shutil.rmtree(final, ignore_errors=True)
                final.parent.mkdir(parents=True, exist_ok=True)
                Path(temporary, _ROOT, *name.split(".")).rename(final)
    return pins


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as a command: 0 when everything pinned is installed, 1 with one line otherwise."""
    parser = argparse.ArgumentParser(description="Install the collections that are pinned.")
    parser.add_argument("archive", type=Path, help="the wheel of the ansible package")
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
