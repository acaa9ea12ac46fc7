"""The Python of an image, outside of a container: what users get, with what was installed there.

The tests' own is of another build, and may take nearly twice as long for the same.
"""

from __future__ import annotations

import json
import shlex
import tarfile
from typing import TYPE_CHECKING

from devctl.local.build import ensure_images
from devctl.local.paths import cache_paths

if TYPE_CHECKING:
    from pathlib import Path

_LIBRARIES = "usr/lib/x86_64-linux-gnu"


def image_python(name: str, folder: Path) -> Path:
    """A program that is the Python of an image, with its packages.

    Args:
        name: The image, and its folder in /opt.
        folder: Where to put it, and the image's files.
    """
    cache = cache_paths()
    key = ensure_images(cache, print, [name])[name].key
    root = _unpack(cache.images / key / "image.tar", folder / "root")
    packages = next((root / "opt" / name / "lib").glob("python3.*/site-packages"))
    loader, python = root / "lib64/ld-linux-x86-64.so.2", root / "usr/bin/python3"
    words = [loader, "--library-path", root / _LIBRARIES, python]
    program = folder / "python"
    program.write_text(
        "#!/bin/sh\n"
        f"export PYTHONHOME={shlex.quote(str(root / 'usr'))}\n"
        f'export PYTHONPATH="$PYTHONPATH":{shlex.quote(str(packages))}\n'
        f'exec {shlex.join(map(str, words))} "$@"\n'
    )
    program.chmod(0o755)
    return program


def _unpack(archive: Path, root: Path) -> Path:
    """The files of all layers; what an upper one removes stays."""
    root.mkdir()
    with tarfile.open(archive) as image:
        manifest = image.extractfile("manifest.json")
        assert manifest
        for name in json.load(manifest)[0]["Layers"]:
            with tarfile.open(fileobj=image.extractfile(name)) as layer:
                layer.extractall(root, filter="tar")
    return root
