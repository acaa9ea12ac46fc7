"""Files that jobs have written to /artifacts: listed and fetched, also while they run."""

from __future__ import annotations

import base64
import binascii
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path as Folder
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import StreamingResponse

from devctl_gateway.artifacts.beneath import NoFileError, opened
from devctl_gateway.artifacts.listing import page as page_of
from devctl_gateway.artifacts.names import LONGEST
from devctl_gateway.artifacts.threads import in_thread
from devctl_gateway.context import Context
from devctl_gateway.errors import NotFoundError
from devctl_gateway.http.context import Inside
from devctl_gateway.http.files import MEDIA_TYPE, file_answer
from devctl_gateway.http.paging import Page, PageRequest, encode_cursor
from devctl_gateway.http.problems import Problem
from devctl_gateway.identity.dependencies import Caller
from devctl_gateway.identity.principal import Principal
from devctl_gateway.routes.access import job_of
from devctl_gateway.schemas.artifacts import Artifact, Artifacts
from devctl_gateway.schemas.text import Id
from devctl_gateway.settings import PREFIX
from devctl_gateway.store.engine import connect

router = APIRouter(prefix=f"{PREFIX}/jobs", tags=["artifacts"])
_JobId = Annotated[Id, Path(description="The job's ID.")]
_BINARY = {MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}}


@router.get("/{job_id}/artifacts")
async def list_job_artifacts(
    job_id: _JobId, caller: Caller, inside: Inside, page: Page
) -> Artifacts:
    """A job's files, sorted by path; none if it has written none, or they were removed.

    Regular files alone: neither links nor files with two names. Names with control characters, or
    that are not UTF-8, are left out. A page may have fewer files than its limit, and yet a next.
    """
    top = await _volume(inside, caller, job_id)
    found = await in_thread(page_of, top, job_id, _after(page), page.limit)
    return Artifacts(
        items=[
            Artifact(path=each.path, size=each.size, modified=_time(each.modified))
            for each in found.files
        ],
        next_cursor=encode_cursor([_opaque(found.last)]) if found.last else None,
        truncated=found.truncated,
    )


@router.get(
    "/{job_id}/artifacts/{path:path}",
    response_class=StreamingResponse,
    responses={
        200: {"description": "The file.", "content": _BINARY},
        206: {"description": "What the header Range asks for.", "content": _BINARY},
        304: {"description": "The client has it: its ETag is in If-None-Match."},
    },
)
async def get_job_artifact(
    request: Request,
    job_id: _JobId,
    path: Annotated[str, Path(max_length=LONGEST, description="As the list has it.")],
    caller: Caller,
    inside: Inside,
) -> Response:
    """A file of a job's, as it is now.

    An answer that is shorter than its Content-Length is of a file that became shorter meanwhile.
    """
    top = await _volume(inside, caller, job_id)
    try:
        file, about = await in_thread(opened, top, job_id, path)
    except NoFileError:
        raise NotFoundError(
            "the job has no such file", "`GET jobs/{id}/artifacts` lists its files"
        ) from None
    return file_answer(request, file, about, path.rpartition("/")[2])


async def _volume(context: Context, caller: Principal, job_id: str) -> Folder:
    """The volume with a job's files.

    Raises:
        NotFoundError: The caller has no such job, or no files are kept here.
    """
    async with connect(context.engine) as connection:
        await job_of(context, connection, caller, job_id)
    if not context.settings.artifacts_folder:
        raise NotFoundError(
            "this deployment keeps no artifacts",
            "ask its administrator for the component `artifacts`",
        )
    return Folder(context.settings.artifacts_folder)


def _opaque(path: str) -> str:
    """A path in a cursor: with characters that any cursor may have."""
    return base64.urlsafe_b64encode(path.encode()).decode()


def _after(page: PageRequest) -> str:
    """The last path of the page before; empty for the first page."""
    found = page.after(str)
    try:
        return base64.b64decode(found[0], b"-_", validate=True).decode() if found else ""
    except (ValueError, binascii.Error):
        raise Problem(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "Invalid cursor",
            "`cursor` is not one that this list has answered: begin without one",
        ) from None


def _time(seconds: float) -> datetime:
    """A time of a file's, which its program may have set to any."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, UTC)
