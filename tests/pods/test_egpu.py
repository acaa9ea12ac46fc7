"""`egpu` as a user types it, on real pods and volumes, against good and bad files and URLs."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import stat
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pexpect
import pytest
from support.command_line import PROGRAM, CommandLine
from support.jobs import Job
from support.servers import wait_until
from support.tenants import ALICE, user_kubeconfig

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Kubectl

    from devctl.local.images import Image
    from devctl.local.paths import ClusterPaths

EGPU = PROGRAM.with_name("egpu")
SMALL = ("--gpu", "0", "--pvc-size", "20Mi")
# What is uploaded is read by the job, and what it writes is fetched.
READS = "sh -c 'cat /artifacts/input.jpg > /artifacts/output.json; ls -A /artifacts'"
ODD = ["; rm -rf .", "$(touch evil)", "`touch evil`", "-rf", "a\nb", "a\\b", "'\"", " ", "*", "ü€"]


@dataclass
class Place:
    """A namespace in which Alice has the role of users."""

    kubectl: Kubectl
    name: str
    image: str
    alice: CommandLine

    def create(self, name: str, *args: str) -> str:
        """A job of the small image, waited for."""
        line = ("create", name, *SMALL, "--image", self.image, "--timeout", "2m", *args)
        return self.alice.must(*line)

    def job(self, name: str) -> Job:
        return Job(self.kubectl, self.name, self.image, name)

    def helpers(self) -> list[str]:
        """The pods that egpu has made."""
        labels = ("-l", "app.kubernetes.io/managed-by=egpu")
        found = self.kubectl("-n", self.name, "get", "pods", *labels, "-o", "name")
        return found.split()


@pytest.fixture(scope="module")
def place(
    deployed: None,  # noqa: ARG001 - what is made is made by the operator
    kubectl: Kubectl,
    paths: ClusterPaths,
    images: dict[str, Image],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Place]:
    name = f"egpu-{uuid4().hex[:6]}"
    kubectl("create", "namespace", name)
    where = ("-n", name, "--clusterrole=devctl-job-user", f"--user={ALICE}")
    kubectl("create", "rolebinding", "jobs", *where)
    home = tmp_path_factory.mktemp("alice")
    kubeconfig = user_kubeconfig(kubectl, paths.kubeconfig, ALICE, home)
    image = images["base"].reference
    alice = CommandLine(kubeconfig, name, home, {"EGPU_LOADER_IMAGE": image}, EGPU)
    yield Place(kubectl, name, image, alice)
    kubectl("-n", name, "delete", "eaj,pod", "--all", "--grace-period=1")
    kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "deep").mkdir(parents=True)
    (folder / "input.jpg").write_bytes(b"image")
    (folder / ".env").write_text("PASSWORD=x")
    for name in ODD:
        (folder / "deep" / name).write_text(name)
    return folder


@pytest.fixture
def store() -> Iterator[str]:
    """The address of a store on this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/keys":
                self.send_response(302)
                self.send_header("Location", "http://169.254.169.254/latest/meta-data/")
                self.end_headers()
                return
            self.send_response(200)
            # It lies about `/short`.
            self.send_header("Content-Length", "5" if self.path == "/image.jpg" else "50")
            self.end_headers()
            self.wfile.write(b"image")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


def test_a_project_is_there_before_the_job_and_its_result_comes_back(
    place: Place, project: Path, tmp_path: Path
) -> None:
    said = place.create("project", "--project-dir", str(project), "--command", READS, "--wait")
    assert said.splitlines() == [
        "ephemeralaccelerationjob/project created",
        "ephemeralaccelerationjob/project succeeded",
    ]
    listed = json.loads(place.alice.must("artifacts", "project", "-o", "json"))["items"]
    names = {item["name"] for item in listed}
    assert {"input.jpg", "output.json", "deep/$(touch evil)", "deep/a\\nb"} <= names
    assert not {"evil", ".env"} & names
    # A name with a newline is not brought here, and all others are.
    said = place.alice.fails(1, "artifacts", "project", "--to", str(tmp_path / "results"))
    assert "left out: `deep/a\\nb`" in said
    assert (tmp_path / "results" / "output.json").read_bytes() == b"image"
    found = {path.name for path in (tmp_path / "results" / "deep").iterdir()}
    assert found == {*ODD} - {"a\nb"}
    assert "/artifacts/output.json" in place.alice.must("get", "project")
    assert place.helpers() == []


def test_a_folder_with_what_is_no_file_makes_nothing(place: Place, project: Path) -> None:
    odd = project / "odd"
    line = ("create", "no-file", "--project-dir", str(project))
    for target in ("/etc/passwd", "../../other", "deep/../../x"):
        odd.symlink_to(target)
        assert "nothing was sent: `odd`" in place.alice.fails(1, *line), target
        odd.unlink()
    for kind in (stat.S_IFIFO, stat.S_IFCHR):
        os.mknod(odd, kind | 0o644, os.makedev(1, 3))
        assert "nothing was sent: `odd`" in place.alice.fails(1, *line)
        odd.unlink()
    assert place.job("no-file").get("eaj", "no-file") == []


@pytest.mark.parametrize("name", ["; rm -rf .", "$(touch evil)", "a\nb", "../x"])
def test_what_is_no_name_of_a_job_reaches_nothing(place: Place, store: str, name: str) -> None:
    assert "cannot be a job's name" in place.alice.fails(2, "create", name)
    line = ("copy-file", name, f"{store}/image.jpg", "--allow-private")
    assert "cannot be a job's name" in place.alice.fails(2, *line)


def test_what_a_job_leaves_on_its_volume_harms_nobody(
    place: Place, store: str, project: Path, tmp_path: Path
) -> None:
    plant = (
        "mkdir own; echo x > own/file; ln -s own within; ln -s /tmp out; ln -s ../.. up;"
        "ln -s /etc/passwd passwd; mkfifo pipe; echo x > './; rm -rf .'; echo x > './$(touch evil)'"
    )
    place.create("plants", "--command", f"sh -c {shlex.quote(plant)}", "--wait")
    said = place.alice.fails(1, "artifacts", "plants", "--to", str(tmp_path / "results"))
    for name in ("out", "passwd", "up"):
        assert f"`{name}`" in said
    found = {path.name for path in (tmp_path / "results").iterdir()}
    assert found == {"own", "within", "; rm -rf .", "$(touch evil)"}
    # What comes later is not led out either: not by a folder, and not by a file.
    copy = ("copy-file", "plants", f"{store}/image.jpg", "--allow-private", "--target-path")
    for name in ("out", "up"):
        said = place.alice.fails(1, *copy, f"/artifacts/{name}/image.jpg")
        assert "a link there leads out of the volume" in said
    place.alice.must(*copy, "/artifacts/passwd")
    listed = json.loads(place.alice.must("artifacts", "plants", "-o", "json"))["items"]
    assert [item["size"] for item in listed if item["name"] == "passwd"] == [len(b"image")]

    place.alice.must("delete", "plants")
    for name in ("out", "up", "within"):
        (project / name).mkdir()
        (project / name / "sent").write_text(name)
    line = ("create", "plants", *SMALL, "--image", place.image, "--project-dir", str(project))
    said = place.alice.fails(1, *line)
    assert "a link there leads out of the volume: `out`, `up`; nothing was sent" in said
    for name in ("out", "up"):
        (project / name / "sent").rename(project / f"{name}-too")
        (project / name).rmdir()
    place.alice.must(*line, "--command", "grep within own/sent", "--wait")
    listed = json.loads(place.alice.must("artifacts", "plants", "-o", "json"))["items"]
    names = {item["name"] for item in listed}
    assert {"own/sent", "out-too", "up-too", "input.jpg"} <= names


def test_a_url_makes_a_job_that_waits_and_create_completes_it(place: Place, store: str) -> None:
    said = place.alice.must("copy-file", "from-url", f"{store}/image.jpg", "--allow-private")
    assert said.startswith("/artifacts/input.jpg: 5 B, sha256 6105d6cc76af")
    assert place.job("from-url").get("eaj", "from-url")[0]["spec"]["suspend"]
    place.create("from-url", "--command", READS, "--wait")
    assert place.alice.fails(1, "create", "from-url").startswith(
        "error: job `from-url` has ended already (Succeeded)"
    )


def test_urls_that_lead_inside_are_not_fetched(place: Place, store: str) -> None:
    for url in (f"{store}/image.jpg", "http://169.254.169.254/", "http://[::ffff:127.0.0.1]/"):
        said = place.alice.fails(5, "copy-file", "ssrf", url)
        assert "it is not fetched" in said
    assert place.job("ssrf").get("eaj", "ssrf") == []
    said = place.alice.fails(5, "copy-file", "ssrf", f"{store}/keys", "--allow-private")
    assert "169.254.169.254" in said
    said = place.alice.fails(1, "copy-file", "ssrf", f"{store}/short", "--allow-private")
    assert "did not come as a whole" in said
    for path in ("../x", "/etc/passwd", "/artifacts/../x", "a\nb"):
        line = ("copy-file", "ssrf", f"{store}/image.jpg", "--allow-private")
        place.alice.fails(2, *line, "--target-path", path)
    assert "there are no files" in place.alice("artifacts", "ssrf").stderr.decode()
    place.alice.must("delete", "ssrf", "--delete-pvc")
    assert place.helpers() == []


@pytest.mark.parametrize("name", [name for name in ODD if name.isprintable()])
def test_odd_names_are_names(place: Place, store: str, name: str) -> None:
    line = ("copy-file", "odd", f"{store}/image.jpg", "--allow-private")
    place.alice.must(*line, "--target-path", f"/artifacts/odd/{name}")
    listed = json.loads(place.alice.must("artifacts", "odd", "-o", "json"))["items"]
    assert f"odd/{name}" in {item["name"] for item in listed}
    assert "evil" not in str({item["name"] for item in listed} - {f"odd/{odd}" for odd in ODD})


def test_a_failure_is_watched_to_its_reason(place: Place) -> None:
    place.create("fails", "--command", "sh -c 'echo broken; exit 7'", "--ttl", "600", "--no-wait")
    said = place.alice.fails(1, "watch", "fails")
    assert "error: job `fails` has failed: " in said
    assert "exit code 7" in said
    assert place.alice.must("logs", "fails") == "broken\n"
    lines = place.alice.must("list").splitlines()
    assert [line.split()[:3] for line in lines if line.startswith("fails ")] == [
        ["fails", "resnet50", "Failed"]
    ]


def test_a_delete_keeps_the_volume_until_it_is_told_not_to(place: Place) -> None:
    place.create("kept", "--command", "sleep 60", "--no-wait")
    place.job("kept").wait("Running")
    assert "artifacts-kept" in place.alice("delete", "kept").stderr.decode()
    assert place.job("kept").get("pvc", "artifacts-kept")
    said = place.alice.must("delete", "kept", "--delete-pvc")
    assert said == "persistentvolumeclaim/artifacts-kept deleted\n"
    place.job("kept").wait_gone("pvc", "artifacts-kept")
    place.create("both", "--command", "sleep 60", "--no-wait")
    place.job("both").wait("Running")
    assert place.alice.must("delete", "both", "--delete-pvc").splitlines() == [
        "ephemeralaccelerationjob/both deleted",
        "persistentvolumeclaim/artifacts-both deleted",
    ]


def test_cleanup_takes_what_is_due_and_nothing_else(place: Place) -> None:
    place.create("early", "--command", "true", "--wait")
    found = place.alice("cleanup", "--dry-run")
    assert "artifacts-early deleted" not in found.stdout.decode()
    assert "artifacts-early is kept: it goes in " in found.stderr.decode()
    place.alice.must("cleanup", "--namespace", place.name)
    assert place.job("early").get("pvc", "artifacts-early")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)
def test_a_loader_goes_with_who_made_it(place: Place, store: str, number: int) -> None:
    place.alice.must("copy-file", "ends", f"{store}/image.jpg", "--allow-private")
    for pause in (0.7, 1.2, 1.8):
        running = place.alice.start("artifacts", "ends")
        time.sleep(pause)
        running.send_signal(number)
        running.communicate(timeout=60)
        wait_until(lambda: place.helpers() == [], "no loader is left", 20)


def test_a_debug_pod_is_a_shell_on_the_volume(place: Place, store: str) -> None:
    place.alice.must("copy-file", "debugged", f"{store}/image.jpg", "--allow-private")
    shell = place.alice.terminal("debug", "debugged")
    shell.expect(rf"kubectl exec -it debug-debugged-\d+ -n {place.name} -- sh")
    shell.expect("[$#] ")
    shell.sendline("cat /mnt/input.jpg; echo; id -u; exit 3")
    shell.expect("image\r\n1000")
    shell.expect(pexpect.EOF)
    shell.close()
    assert shell.exitstatus == 3
    assert place.helpers() == []
    said = place.alice.must("debug", "debugged", "--keep")
    name = re.search(r"debug-debugged-\d+", said)
    assert name
    assert place.helpers() == [f"pod/{name[0]}"]
    # As the seed has it.
    text = place.kubectl("exec", name[0], "-n", place.name, "--", "cat", "/mnt/input.jpg")
    assert text == "image"
    in_use = place.alice.fails(1, "delete", "debugged", "--delete-pvc")
    assert f"pod `{name[0]}` uses it" in in_use
    place.kubectl("-n", place.name, "delete", "pod", name[0])
    place.alice.must("delete", "debugged", "--delete-pvc")


def test_a_pod_that_does_not_start_is_explained(place: Place, store: str) -> None:
    place.alice.must("copy-file", "no-image", f"{store}/image.jpg", "--allow-private")
    line: Any = ("artifacts", "no-image", "--loader-image", "localhost/none:1")
    said = place.alice.fails(1, *line)
    assert "ImagePullFailed: image `localhost/none:1` cannot be pulled" in said
    assert place.helpers() == []


def test_a_foreign_volume_is_left_alone(place: Place) -> None:
    manifest = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "artifacts-foreign", "namespace": place.name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Mi"}},
        },
    }
    place.kubectl("apply", "-f", "-", input=json.dumps(manifest))
    for line in (("artifacts", "foreign"), ("debug", "foreign")):
        assert "left alone" in place.alice.fails(1, *line)
    place.alice.must("create", "foreign", "--no-wait")
    assert "left alone" in place.alice.fails(1, "delete", "foreign", "--delete-pvc")
    assert place.job("foreign").get("pvc", "artifacts-foreign")
    place.alice.must("delete", "foreign")
