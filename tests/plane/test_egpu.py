"""`egpu` as a user types it, where no file moves: jobs are made, looked at, waited for, deleted."""

from __future__ import annotations

import json
import os
import shlex
import signal
import stat
from typing import TYPE_CHECKING, Any

import pytest
from support import job_interface
from support.egpu_place import NO_NAMES, SMALL, EgpuPlace, egpu_place, store
from support.plane import scenarios
from support.servers import wait_until

from devctl.api.ephemeral_acceleration_job import PVC_TTL_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Kubectl
    from support.plane.plane import Plane

    from devctl.local.images import Image

RUNS, FAILS, SUCCEEDS = (
    ("--command", f"/bin/sh -c {shlex.quote(script)}")
    for script in (scenarios.WAITS, scenarios.FAILS, scenarios.SUCCEEDS)
)
NOWHERE = "localhost/none:1"


@pytest.fixture(scope="module")
def place(
    deployed: Plane,
    kubectl: Kubectl,
    images: dict[str, Image],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[EgpuPlace]:
    """Alice's namespace."""
    home, image = tmp_path_factory.mktemp("alice"), images["base"].reference
    with egpu_place(kubectl, deployed.kubeconfig, home, image) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an image in it."""
    made = tmp_path / "project"
    made.mkdir()
    (made / "input.jpg").write_bytes(b"image")
    return made


def test_every_command_has_the_flags_that_people_use(place: EgpuPlace) -> None:
    for command, flags in job_interface.flags().items():
        said = place.alice.must(command, "--help")
        assert all(f"{flag} " in said for flag in flags), command


def test_a_job_is_made_watched_and_shown(place: EgpuPlace) -> None:
    said = place.create("shown", *SUCCEEDS, "--wait")
    assert said.splitlines() == [
        "ephemeralaccelerationjob/shown created",
        "ephemeralaccelerationjob/shown succeeded",
    ]
    assert place.alice.must("watch", "shown") == "ephemeralaccelerationjob/shown succeeded\n"
    text = place.alice.must("get", "shown")
    assert "Result:" in text
    assert "/artifacts/output.json" in text
    made = json.loads(place.alice.must("get", "shown", "-o", "json"))
    assert made["status"]["phase"] == "Succeeded"
    assert made["spec"]["resources"]["gpu"] == 0
    rows = place.alice.must("list").splitlines()
    assert [row.split()[:3] for row in rows if row.startswith("shown ")] == [
        ["shown", "resnet50", "Succeeded"]
    ]
    assert "ephemeralaccelerationjob/shown" in place.alice.must("list", "-o", "name").split()
    assert place.alice.fails(1, "create", "shown").startswith(
        "error: there is a job `shown` already (Succeeded)"
    )


def test_what_is_not_there_is_said_so(place: EgpuPlace) -> None:
    for command in ("get", "watch", "logs", "delete"):
        said = place.alice.fails(3, command, "nobody")
        assert f"there is no job `nobody` in namespace `{place.name}`" in said, command
    for line in ("artifacts nobody", "debug nobody", "delete nobody --delete-pvc"):
        assert "nobody" in place.alice.fails(3, *line.split()), line
    assert place.helpers() == []


def test_what_alice_may_not_do_is_said_so(place: EgpuPlace) -> None:
    for line in (("list", "-A"), ("list", "-n", "kube-system"), ("create", "x", "-n", "default")):
        said = place.alice.fails(5, *line)
        assert "may not" in said or "forbidden" in said, line


def test_a_dry_run_makes_nothing(place: EgpuPlace) -> None:
    line = ("create", "dry", *SMALL, "--image", place.image)
    for how in ("client", "server"):
        assert "dry run)" in place.alice.must(*line, f"--dry-run={how}")
    # The API server's own rules count in the second only.
    bad = ("--pvc-size", "5x")
    assert "pvcSize" in place.alice.fails(2, *line, *bad, "--dry-run=server")
    assert place.job("dry").get("eaj", "dry") == []


def test_a_quota_that_is_used_up_is_said_so(place: EgpuPlace, kubectl: Kubectl) -> None:
    where = ("-n", place.name)
    kind = "count/ephemeralaccelerationjobs.gpu.yourdomain.io"
    kubectl("create", "quota", "jobs", *where, f"--hard={kind}=0")
    ask = ("get", "quota", "jobs", *where, "-o", "jsonpath={.status.hard}")
    wait_until(lambda: kind in kubectl(*ask), "it is taken in")
    try:
        assert "quota" in place.alice.fails(5, "create", "too-much", *SMALL)
    finally:
        kubectl("delete", "quota", "jobs", *where)


def test_what_is_no_name_of_a_job_reaches_nothing(place: EgpuPlace) -> None:
    for name in NO_NAMES:
        assert "cannot be a job's name" in place.alice.fails(2, "create", name)
        line = ("copy-file", name, job_interface.URL, "--allow-private")
        assert "cannot be a job's name" in place.alice.fails(2, *line)


def test_a_folder_with_what_is_no_file_makes_nothing(place: EgpuPlace, folder: Path) -> None:
    odd = folder / "odd"
    line = ("create", "no-file", "--project-dir", str(folder))
    for target in ("/etc/passwd", "../../other", "deep/../../x"):
        odd.symlink_to(target)
        assert "nothing was sent: `odd`" in place.alice.fails(1, *line), target
        odd.unlink()
    for kind in (stat.S_IFIFO, stat.S_IFCHR):
        os.mknod(odd, kind | 0o644, os.makedev(1, 3))
        assert "nothing was sent: `odd`" in place.alice.fails(1, *line)
        odd.unlink()
    assert place.job("no-file").get("eaj", "no-file") == []


def test_urls_that_lead_inside_are_not_fetched(place: EgpuPlace) -> None:
    with store() as found:
        address = found.address
        for url in (
            f"{address}/image.jpg",
            "http://169.254.169.254/",
            "http://[::ffff:127.0.0.1]/",
        ):
            said = place.alice.fails(5, "copy-file", "inside", url)
            assert "it is not fetched" in said
        line = ("copy-file", "inside", f"{address}/image.jpg", "--allow-private")
        for path in ("../x", "/etc/passwd", "/artifacts/../x", "a\nb"):
            place.alice.fails(2, *line, "--target-path", path)
    assert place.job("inside").get("eaj", "inside") == []


def test_a_url_that_cannot_be_reached_makes_nothing(place: EgpuPlace) -> None:
    """Nothing can be, from inside a plane."""
    said = place.alice.fails(2, "copy-file", "nowhere", job_interface.URL)
    assert "error: `example.com` cannot be found" in said
    assert place.job("nowhere").get("eaj", "nowhere") == []


def test_a_failure_is_watched_to_its_reason(place: EgpuPlace) -> None:
    place.create("fails", *FAILS, "--ttl", "600", "--no-wait")
    said = place.alice.fails(1, "watch", "fails")
    assert "error: job `fails` has failed: NonZeroExit: exit code 7" in said
    rows = place.alice.must("list").splitlines()
    assert [row.split()[:4] for row in rows if row.startswith("fails ")] == [
        ["fails", "resnet50", "Failed", "NonZeroExit"]
    ]
    waiting = ("create", "waits", *SMALL, "--image", NOWHERE, "--wait", "--timeout", "2s")
    said = place.alice.fails(4, *waiting)
    assert "`waits` has not ended after 2 s (Pending)" in said
    assert place.job("waits").get("eaj", "waits"), "it goes on"


def test_a_delete_keeps_the_volume_until_it_is_told_not_to(place: EgpuPlace) -> None:
    for name in ("kept", "both"):
        place.create(name, *RUNS, "--no-wait")
    for name in ("kept", "both"):
        place.job(name).wait("Running")
    said = place.alice("delete", "kept").stderr.decode()
    assert "its volume artifacts-kept (20Mi) is kept" in said
    assert place.job("kept").get("pvc", "artifacts-kept")
    said = place.alice.must("delete", "kept", "both", "--delete-pvc")
    assert said.splitlines() == [
        "ephemeralaccelerationjob/both deleted",
        "persistentvolumeclaim/artifacts-kept deleted",
        "persistentvolumeclaim/artifacts-both deleted",
    ]
    for name in ("kept", "both"):
        place.job(name).wait_gone("pvc", f"artifacts-{name}")


def test_cleanup_takes_what_is_due_and_nothing_else(place: EgpuPlace, deployed: Plane) -> None:
    """Nobody else does it meanwhile: there is no observer."""
    for name in ("early", "due"):
        place.create(name, *SUCCEEDS, "--wait")
    due = place.job("due")
    deployed.observer.stop()
    try:
        patch = '{"spec": {"pvcTTLSecondsAfterFinished": 0}}'
        place.kubectl("-n", place.name, "patch", "eaj", "due", "--type=merge", "-p", patch)
        noted = f'"{PVC_TTL_SECONDS}": "0"'
        wait_until(lambda: noted in json.dumps(due.get("pvc", due.claim)), "its volume knows")
        place.alice.must("delete", "due")
        found = place.alice("cleanup", "--dry-run")
        assert found.stdout.decode() == "persistentvolumeclaim/artifacts-due deleted (dry run)\n"
        assert "artifacts-early is kept: it expires in " in found.stderr.decode()
        assert due.get("pvc", due.claim)
        said = place.alice.must("cleanup", "--namespace", place.name)
        assert said == "persistentvolumeclaim/artifacts-due deleted\n"
        assert place.job("early").get("pvc", "artifacts-early")
    finally:
        deployed.observer.start()


@pytest.fixture(scope="module")
def waiting(place: EgpuPlace) -> str:
    """A job that has its volume and waits for files."""
    patch = {"suspend": True, "image": place.image}
    place.job("waiting").apply(**patch)
    wait_until(lambda: bool(place.job("waiting").get("pvc", "artifacts-waiting")), "it has it")
    return "waiting"


def test_a_pod_that_does_not_start_is_explained(place: EgpuPlace, waiting: str) -> None:
    said = place.alice.fails(1, "artifacts", waiting, "--loader-image", NOWHERE)
    assert f"ImagePullFailed: image `{NOWHERE}` cannot be pulled" in said
    assert place.helpers() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_loader_goes_with_who_made_it(
    place: EgpuPlace, waiting: str, number: signal.Signals
) -> None:
    """Its image cannot be pulled: it is there, and waited for."""
    line = ("artifacts", waiting, "--loader-image", NOWHERE)
    running = place.alice.start(*line)
    wait_until(lambda: len(place.helpers()) == 1, "it is made")
    running.send_signal(number)
    running.communicate(timeout=60)
    assert running.returncode in {128 + number, -number}
    wait_until(lambda: place.helpers() == [], "no loader is left")


def test_a_foreign_volume_is_left_alone(place: EgpuPlace) -> None:
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
    place.create("foreign", "--no-wait")
    assert "left alone" in place.alice.fails(1, "delete", "foreign", "--delete-pvc")
    assert place.job("foreign").get("pvc", "artifacts-foreign")
    place.alice.must("delete", "foreign")


def finish(place: EgpuPlace, *lines: tuple[str, ...]) -> list[tuple[int, str, str]]:
    """Commands that are started at once: the exit code and the words of each."""
    running: list[Any] = [place.alice.start(*line) for line in lines]
    ends = [(process.communicate(timeout=120), process.returncode) for process in running]
    return [(code, out.decode(), errors.decode()) for (out, errors), code in ends]


def test_two_who_create_one_job_at_once_make_one(place: EgpuPlace) -> None:
    line = ("create", "raced", *SMALL, "--image", place.image, *RUNS, "--no-wait")
    (won, lost) = sorted(finish(place, line, line))
    assert (won[0], won[1]) == (0, "ephemeralaccelerationjob/raced created\n")
    assert lost[0] == 1
    assert "there is a job `raced` already" in lost[2]
    place.job("raced").wait("Running")


def test_two_who_watch_see_the_same_end(place: EgpuPlace) -> None:
    place.create("seen", *RUNS, "--no-wait")
    job = place.job("seen")
    job.wait("Running")
    watching = [place.alice.start("watch", "seen") for _ in range(2)]
    job.end("succeed")
    for process in watching:
        out, _ = process.communicate(timeout=60)
        assert (process.returncode, out) == (0, b"ephemeralaccelerationjob/seen succeeded\n")


def test_two_who_delete_one_job_at_once_both_find_it_gone(place: EgpuPlace) -> None:
    place.create("twice", *RUNS, "--no-wait")
    place.job("twice").wait("Running")
    line = ("delete", "twice", "--delete-pvc")
    ends = finish(place, line, line)
    # Whoever is late may find nothing any more; nobody fails for another reason.
    assert {code for code, _, _ in ends} <= {0, 3}, ends
    assert any("persistentvolumeclaim/artifacts-twice deleted" in out for _, out, _ in ends)
    assert place.job("twice").get("eaj", "twice") == []
    place.job("twice").wait_gone("pvc", "artifacts-twice")
