"""A control group for a tier that runs beside others."""

from __future__ import annotations

import os
import shlex
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

from devctl.local import cgroups

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def own_group(name: str) -> Iterator[list[str]]:
    """A control group beside those of clusters, and the words before a command line in it.

    A test of a cluster's effects on the host would take processes inside of it for another
    cluster's. Its share is that of a cluster's group: with a quarter, an API server in it once
    needed more than 10 seconds for an answer.
    """
    group = cgroups.path_of(name)
    cgroups.create(group)
    files = " ".join(shlex.quote(str(file)) for file in cgroups.process_files(group))
    folder = tempfile.mkdtemp(dir=os.environ["DEVCTL_E2E_RUN"])
    enter = f'for file in {files}; do echo $$ >"$file"; done; exec env TMPDIR={folder} "$@"'
    try:
        yield ["sh", "-ec", enter, "sh"]
    finally:
        cgroups.kill(group)
        cgroups.remove(group)
