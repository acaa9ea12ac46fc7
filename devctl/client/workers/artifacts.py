"""Files that a job has written: listed, and fetched. Neither job nor API is trusted.

As for other files from pods: all of them arrive, or none; none leads out of the folder, and what
would run programs here, such as a git repository, stays away.
"""

from __future__ import annotations

import posixpath
import time
from itertools import chain
from typing import TYPE_CHECKING

from devctl.client.files.copy import Copied
from devctl.client.files.incoming import incoming, prepare, put_folder, target_folder
from devctl.client.files.names import check_name, offered, refuse_repository
from devctl.client.files.remote import MEMBERS
from devctl.client.workers.generated.models import Artifacts
from devctl.client.workers.pages import SIZE
from devctl.errors import DevctlError, NotFoundError, UsageError
from devctl.text import readable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from devctl.client.files.transfer import Progress
    from devctl.client.workers.generated.calls import Calls


def listed(api: Calls, job_id: str) -> Artifacts:
    """All of a job's files, as one page."""
    items, cursor, truncated = [], None, False
    while True:
        found = api.list_job_artifacts(job_id, limit=SIZE, cursor=cursor)
        items += found.items
        truncated = truncated or found.truncated
        cursor = found.next_cursor
        if cursor is None:
            return Artifacts(items=items, truncated=truncated)
        if len(items) > MEMBERS:
            raise DevctlError(
                f"job `{job_id}` lists more than {MEMBERS:,} files", "fetch them one by one"
            )


def download(
    api: Calls, job_id: str, path: str, target: Path, moved: Progress | None = None
) -> Path:
    """Fetch one file to a path or into a folder here, and say where it is."""
    try:
        check_name(path)
    except DevctlError as error:
        raise UsageError(
            f"`{readable(path)}` is not the path of a file", "give one that the list shows"
        ) from error
    own = posixpath.basename(path)
    target = target / own if target.is_dir() else target
    if target.is_dir():
        raise UsageError(f"`{readable(str(target))}` is a folder", "choose a file")
    if not target.parent.is_dir():
        raise NotFoundError(
            f"there is no folder `{readable(str(target.parent))}`", "create it first"
        )
    refuse_repository(target)
    with incoming(target.parent.resolve()) as arrived:
        content = _content(api, job_id, path)
        prepare({own: 0}, arrived, moved).take_file(own, content, time.time())
        (arrived / own).replace(target)
    return target


def pull(api: Calls, job_id: str, into: Path, moved: Progress | None = None) -> Copied:
    """Fetch all files into a folder here; see `WorkerJobs.pull`."""
    if into.exists() and not into.is_dir():
        raise UsageError(f"`{into}` is not a folder", "name a folder, existing or new")
    page = listed(api, job_id)
    there = {each.path: each for each in page.items}
    offer = offered(there, into)
    left_out = [*offer.left_out]
    with target_folder(into) as top, incoming(top) as arrived:
        unpacking = prepare({name: there[name].size for name in offer.names}, arrived, moved)
        for name in offer.names:
            try:
                content = _content(api, job_id, name)
            except NotFoundError:
                left_out.append(f"`{readable(name)}`: it is gone since it was listed")
                continue
            unpacking.take_file(name, content, there[name].modified.timestamp())
        size = unpacking.size
        put_folder(arrived, top, unpacking)
    if page.truncated:
        left_out.append("there are more files than the API lists")
    return Copied(readable(str(into)), len(unpacking.files), size, left_out=left_out, git=offer.git)


def _content(api: Calls, job_id: str, path: str) -> Iterator[bytes]:
    """What is in a file; raises NotFoundError at once if there is none."""
    pieces = api.get_job_artifact(job_id, path)
    return chain([next(pieces, b"")], pieces)
