"""A namespace in which Alice has the role of who runs jobs, and types `egpu`."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from uuid import uuid4

from support.command_line import PROGRAM, CommandLine
from support.jobs import Job
from support.tenants import ALICE, user_kubeconfig

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Kubectl

EGPU = PROGRAM.with_name("egpu")
SMALL = ("--gpu", "0", "--pvc-size", "20Mi")
RESTRICTED = "pod-security.kubernetes.io/enforce=restricted"
NO_NAMES = ["; rm -rf .", "$(touch evil)", "a\nb", "../x"]
"""What no job can be called."""


@dataclass(frozen=True)
class EgpuPlace:
    """A namespace that takes confined pods only, and a user of it."""

    kubectl: Kubectl
    name: str
    image: str
    alice: CommandLine

    def create(self, name: str, *args: str) -> str:
        """A job of the small image; what `egpu create` prints."""
        line = ("create", name, *SMALL, "--image", self.image, "--timeout", "2m", *args)
        return self.alice.must(*line)

    def job(self, name: str) -> Job:
        """A job as the administrator looks at it."""
        return Job(self.kubectl, self.name, self.image, name)

    def helpers(self) -> list[str]:
        """The pods that egpu has made."""
        labels = ("-l", "app.kubernetes.io/managed-by=egpu")
        found = self.kubectl("-n", self.name, "get", "pods", *labels, "-o", "name")
        return found.split()


@contextmanager
def egpu_place(
    kubectl: Kubectl, administrator: Path, home: Path, image: str
) -> Iterator[EgpuPlace]:
    """Such a namespace; its jobs and pods are deleted in the end.

    Args:
        kubectl: The administrator's.
        administrator: Their kubeconfig.
        home: Alice's home on this machine.
        image: Of jobs, and of the pods that reach volumes.
    """
    name = f"egpu-{uuid4().hex[:6]}"
    kubectl("create", "namespace", name)
    kubectl("label", "namespace", name, RESTRICTED)
    where = ("-n", name, "--clusterrole=devctl-job-user", f"--user={ALICE}")
    kubectl("create", "rolebinding", "jobs", *where)
    kubeconfig = user_kubeconfig(kubectl, administrator, ALICE, home)
    alice = CommandLine(kubeconfig, name, home, {"EGPU_LOADER_IMAGE": image}, EGPU)
    yield EgpuPlace(kubectl, name, image, alice)
    kubectl("-n", name, "delete", "eaj,pod", "--all", "--grace-period=1", "--wait=false")
    kubectl("delete", "namespace", name, "--wait=false")


@dataclass
class Store:
    """A store on this machine.

    Attributes:
        address: Its URL. `/a` and `/b` are large files of that letter, `/short` ends before it
            should, `/keys` leads inside, `/slow` never ends, and all others are small.
        asked: Whether somebody waits for the rest of `/slow`.
        ended: Nobody needs that any more.
    """

    address: str = ""
    asked: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)


IMAGE = b"image"
LARGE = 1 << 20


@contextmanager
def store() -> Iterator[Store]:
    """A store, as long as the block lasts."""
    made = Store()
    files = {"/a": b"a" * LARGE, "/b": b"b" * LARGE}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/keys":
                self.send_response(302)
                self.send_header("Location", "http://169.254.169.254/latest/meta-data/")
                self.end_headers()
                return
            content = files.get(self.path, IMAGE)
            more = 45 if self.path in {"/short", "/slow"} else 0
            self.send_response(200)
            self.send_header("Content-Length", str(len(content) + more))
            self.end_headers()
            self.wfile.write(content)
            if self.path == "/slow":
                made.asked.set()
                made.ended.wait()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.address = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield made
    made.ended.set()
    server.shutdown()
