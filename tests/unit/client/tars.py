"""Archives that a pod could send."""

from __future__ import annotations

import io
import tarfile
from typing import Any

HARMLESS = {"a.txt": b"a", "deep/b.bin": b"\0" * 1000, "deep/er/c": b""}


def info(name: str, **what: Any) -> tarfile.TarInfo:
    """A member's header."""
    found = tarfile.TarInfo(name)
    for key, value in what.items():
        setattr(found, key, value)
    return found


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    """A link's header."""
    return info(name, type=kind, linkname=target)


def tar(*members: tarfile.TarInfo | tuple[str, bytes], style: int = tarfile.GNU_FORMAT) -> bytes:
    """An archive of headers, and of files with their content."""
    out = io.BytesIO()
    options: dict[str, Any] = {"encoding": "utf-8", "errors": "surrogateescape"}
    with tarfile.open(fileobj=out, mode="w", format=style, **options) as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
            else:
                name, content = member
                archive.addfile(info(name, size=len(content)), io.BytesIO(content))
    return out.getvalue()
