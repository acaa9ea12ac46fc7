"""The applying program as one file, which travels to a pod beside a capsule."""

from __future__ import annotations

import io
import zipfile
from importlib.resources import files

from devctl.client.checkout import applying

_MAIN = "import sys\nfrom applying.command import main\nsys.exit(main(sys.argv[1:]))\n"
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
