"""The protocol of the Hugging Face hub, as far as models need it. Pure."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple
from urllib.parse import quote

from devctl_cache_agent.problems import CacheError

MAX_INFO = 16 << 20
"""Bytes of the list of files."""
_MAX_FILES = 10_000
_MAX_PATH = 1024
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


class File(NamedTuple):
    """A file of a model.

    Attributes:
        sha256: Of its content, if it is large.
        blob: The hash that git has for it, of all others.
    """

    path: str
    length: int
    sha256: str = ""
    blob: str = ""


class Revision(NamedTuple):
    """A revision, which never changes."""

    commit: str
    files: tuple[File, ...]

    @property
    def length(self) -> int:
        """Its bytes."""
        return sum(each.length for each in self.files)


def info_path(repo: str, revision: str) -> str:
    """Where the hub lists the files of a revision.

    >>> info_path("facebook/opt-125m", "refs/pr/1")
    '/api/models/facebook/opt-125m/revision/refs%2Fpr%2F1?blobs=true'
    """
    return f"/api/models/{quote(repo)}/revision/{quote(revision, safe='')}?blobs=true"


def file_path(repo: str, commit: str, path: str) -> str:
    """Where a file of a revision is.

    >>> file_path("facebook/opt-125m", "0a", "a b.json")
    '/facebook/opt-125m/resolve/0a/a%20b.json'
    """
    return f"/{quote(repo)}/resolve/{commit}/{quote(path)}"


def revision(data: bytes) -> Revision:
    """What the hub says about a revision, none of which is believed to be safe.

    Raises:
        CacheError: It is not such an answer, or a file would be written elsewhere.
    """
    try:
        answer = json.loads(data)
    except ValueError as error:
        raise CacheError("the hub's answer is not JSON") from error
    commit = answer.get("sha") if isinstance(answer, dict) else None
    listed = answer.get("siblings") if isinstance(answer, dict) else None
    if not isinstance(commit, str) or not _COMMIT.fullmatch(commit):
        raise CacheError("the hub names no commit for this revision")
    if not isinstance(listed, list) or not 0 < len(listed) <= _MAX_FILES:
        raise CacheError("the hub lists no files, or too many")
    files = tuple(_file(each) for each in listed)
    paths = {each.path for each in files}
    if len(paths) < len(files):
        raise CacheError("the hub lists a file twice")
    if any(above in paths for path in paths for above in _folders(path)):
        raise CacheError("the hub lists something both as a file and as a folder")
    return Revision(commit, files)


def _folders(path: str) -> list[str]:
    """The folders that a file is in."""
    parts = path.split("/")
    return ["/".join(parts[:length]) for length in range(1, len(parts))]


def is_safe(path: str) -> bool:
    r"""Whether a path stays in the model's folder.

    >>> [is_safe(each) for each in ("onnx/model.bin", "../x", "/x", "a//b", "a/./b", "a\\b", "")]
    [True, False, False, False, False, False, False]
    """
    parts = path.split("/")
    return (
        len(path.encode("utf-8", "replace")) <= _MAX_PATH
        and path.isprintable()
        and "\\" not in path
        and all(part not in {"", ".", ".."} for part in parts)
    )


def _file(each: Any) -> File:
    found = each if isinstance(each, dict) else {}
    path, lfs = found.get("rfilename"), found.get("lfs")
    large = lfs if isinstance(lfs, dict) else {}
    length = large.get("size", found.get("size"))
    sha256, blob = large.get("sha256", ""), found.get("blobId", "")
    if not isinstance(path, str) or not is_safe(path):
        raise CacheError(f"the hub names a file {str(path)[:64]!r}, which is no safe path")
    if not isinstance(length, int) or isinstance(length, bool) or length < 0:
        raise CacheError(f"the hub does not say how large {path!r} is")
    if large and not (isinstance(sha256, str) and _SHA256.fullmatch(sha256)):
        raise CacheError(f"the hub gives no checksum for {path!r}")
    if not large and not (isinstance(blob, str) and _COMMIT.fullmatch(blob)):
        raise CacheError(f"the hub gives no checksum for {path!r}")
    return File(path, length, sha256 if large else "", "" if large else blob)
