"""The namespaces that a plane has to itself, so that its ports and folders are nobody else's.

ansible-operator's ports 8888 and 5050 cannot be changed, and its folder below /tmp neither.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from pathlib import Path

ADDRESS = "198.51.100.1"
"""Where the plane's API server listens. The loopback address alone would not do: kubeadm and the
API server refuse to advertise it."""

RUNS = Path("/tmp/ansible-operator")  # noqa: S108 - the operator's own, see above
_NEW_MOUNTS, _NEW_NETWORK = 0x00020000, 0x40000000


def enter(folder: Path) -> None:
    """Move this process, and all that it starts from now on, into namespaces of its own.

    They end with the last process in them, so there is nothing to remove.

    Raises:
        OSError: The kernel refuses, which it does to anybody but root.
    """
    library = ctypes.CDLL(None, use_errno=True)
    if library.unshare(_NEW_MOUNTS | _NEW_NETWORK):
        number = ctypes.get_errno()
        raise OSError(number, f"a plane needs root: {os.strerror(number)}")
    RUNS.mkdir(exist_ok=True)
    folder.mkdir(exist_ok=True)
    for command in (
        ("mount", "--make-rprivate", "/"),
        ("mount", "--bind", str(folder), str(RUNS)),
        ("ip", "link", "set", "lo", "up"),
        ("ip", "address", "add", f"{ADDRESS}/32", "dev", "lo"),
    ):
        subprocess.run(command, check=True)
