"""`kubectl port-forward`, for as long as a test needs it."""

from __future__ import annotations

import re
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Kubectl


@contextmanager
def forwarded(
    kubectl: Kubectl, namespace: str, what: str, port: int, kubeconfig: Path | None = None
) -> Iterator[int]:
    """The port of this machine's loopback interface that leads to one of a pod.

    Args:
        kubectl: The program.
        namespace: Of what is reached.
        what: Such as `service/web`; one pod of it is taken.
        port: Of the pod or service.
        kubeconfig: Somebody else's than the administrator's.
    """
    command = [
        str(kubectl.program),
        f"--kubeconfig={kubeconfig or kubectl.kubeconfig}",
        f"--namespace={namespace}",
        "port-forward",
        "--address=127.0.0.1",
        what,
        f":{port}",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            found = re.search(r"127\.0\.0\.1:(\d+)", process.stdout.readline())
            assert found, f"{what} is not reached"
            yield int(found[1])
        finally:
            process.terminate()
