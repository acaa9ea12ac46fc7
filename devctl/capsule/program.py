"""The applying program as one file, which travels to a pod beside a capsule."""

from __future__ import annotations

import io
import zipfile
from importlib.resources import files

from devctl.capsule import applying

# The first process of a container is not ended by a signal that it does not handle.
_MAIN = """\
import signal
import sys

from applying.command import main

signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
sys.exit(main(sys.argv[1:]))
"""
_THEN = (1980, 1, 1, 0, 0, 0)


def program() -> bytes:
    """A zip that `python3 -I` runs; the same for the same devctl."""
    modules = {
        f"applying/{each.name}": each.read_text(encoding="utf-8")
        for each in files(applying).iterdir()
        if each.name.endswith(".py")
    }
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for name, text in sorted({"__main__.py": _MAIN, **modules}.items()):
            # Stored as it is: compressed bytes depend on the version of zlib.
            archive.writestr(zipfile.ZipInfo(name, _THEN), text)
    return written.getvalue()
