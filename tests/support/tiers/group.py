"""A control group for a tier that runs beside others and gives way to them."""

from __future__ import annotations

import os
import shlex
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

from devctl.local import cgroups

if TYPE_CHECKING:
    from collections.abc import Iterator

SMALL_SHARE = {"cpu.shares": "256", "cpu.weight": "25"}
"""A quarter of what a group has otherwise, as cgroup v1 and v2 put it."""


@contextmanager
def own_group(name: str) -> Iterator[list[str]]:
    """A control group beside those of clusters, and the words before a command line in it.

    A test of a cluster's effects on the host would take processes inside of it for another
    cluster's. Being nice would not help: that counts among processes of one group only.
    """
    group = cgroups.path_of(name)
    cgroups.create(group)
    for hierarchy in cgroups.hierarchies():
        for setting, share in SMALL_SHARE.items():
            file = hierarchy / group.strip("/") / setting
            if file.exists():
                file.write_text(share)
    files = " ".join(shlex.quote(str(file)) for file in cgroups.process_files(group))
    folder = tempfile.mkdtemp(dir=os.environ["DEVCTL_E2E_RUN"])
    enter = f'for file in {files}; do echo $$ >"$file"; done; exec env TMPDIR={folder} "$@"'
    try:
        yield ["sh", "-ec", enter, "sh"]
    finally:
        cgroups.kill(group)
        cgroups.remove(group)
