"""Files as answers: whole or in part, always to be saved and never to be shown."""

from __future__ import annotations

import io
import os
from collections.abc import AsyncIterator
from http import HTTPStatus
from urllib.parse import quote

from fastapi import Request, Response
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from devctl_gateway.artifacts.threads import in_thread, soon
from devctl_gateway.http.etags import etag_of, matches
from devctl_gateway.http.problems import Problem
from devctl_gateway.http.ranges import Range, range_of

MEDIA_TYPE = "application/octet-stream"
"""Of all of them: nobody knows what a program has written."""
_PIECE = 1 << 18


class FileAnswer(StreamingResponse):
    """Bytes of an open file, which is closed in the end.

    Starlette's FileResponse opens a path once more, which may be another file by then, and sends
    more than it has announced of one that grows.

    Args:
        file: The file.
        part: Which bytes.
        status: HTTP's.
        headers: Without the length.
    """

    def __init__(
        self, file: io.FileIO, part: Range, status: HTTPStatus, headers: dict[str, str]
    ) -> None:
        """Read nothing yet."""
        self._file = file
        length = {"Content-Length": str(part.length)}
        super().__init__(_pieces(file, part), status, {**headers, **length}, MEDIA_TYPE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            soon(self._file.close)


def file_answer(request: Request, file: io.FileIO, about: os.stat_result, name: str) -> Response:
    """A file, or what a request wants of it; 304 if the client has it already.

    Args:
        request: Its headers say what is wanted.
        file: The open file; it is closed in the end, whatever is answered.
        about: What the system says of it.
        name: What it is to be saved as.

    Raises:
        Problem: The file ends before what is wanted; 416.
    """
    # What a program can set, such as the time of its last change, is not all of it.
    tag = etag_of([about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns])
    if (known := request.headers.get("if-none-match")) and matches(known, tag):
        soon(file.close)
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers={"ETag": tag})
    headers = {
        "ETag": tag,
        "Accept-Ranges": "bytes",
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}",
    }
    part = _wanted(request, tag, about.st_size)
    if part is None:
        return FileAnswer(file, Range(0, about.st_size), HTTPStatus.OK, headers)
    if not part.length:
        soon(file.close)
        raise Problem(
            HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
            "",
            f"the file has {about.st_size} bytes: ask for some of these",
            headers={"Content-Range": f"bytes */{about.st_size}"},
        )
    last = part.start + part.length - 1
    headers["Content-Range"] = f"bytes {part.start}-{last}/{about.st_size}"
    return FileAnswer(file, part, HTTPStatus.PARTIAL_CONTENT, headers)


def _wanted(request: Request, tag: str, size: int) -> Range | None:
    """The bytes that are asked for; all of them if those were of the file before it changed."""
    header = request.headers.get("range")
    if header is None or request.headers.get("if-range", tag) != tag:
        return None
    return range_of(header, size)


async def _pieces(file: io.FileIO, part: Range) -> AsyncIterator[bytes]:
    """As many bytes as were announced, however the file grows.

    Raises:
        EOFError: It has become shorter; the client sees that the answer is not complete.
    """
    at, end = part.start, part.start + part.length
    while at < end:
        piece = await in_thread(os.pread, file.fileno(), min(_PIECE, end - at), at)
        if not piece:
            raise EOFError(f"the file became shorter while it was read: {end - at} bytes less")
        at += len(piece)
        yield piece
