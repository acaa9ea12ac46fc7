"""`egpu` where files move: onto volumes and back, in namespaces that take confined pods only."""

from __future__ import annotations

import json
import re
import shlex
import signal
from typing import TYPE_CHECKING, Any

import pexpect
import pytest
from support.egpu_place import LARGE, SMALL, EgpuPlace, Store, egpu_place, store
from support.servers import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Kubectl

    from devctl.local.images import Image

# What is uploaded is read by the job, and what it writes is fetched.
READS = "sh -c 'cat /artifacts/input.jpg > /artifacts/output.json; ls -A /artifacts'"
ODD = ["; rm -rf .", "$(touch evil)", "`touch evil`", "-rf", "a\nb", "a\\b", "'\"", " ", "*", "ü€"]
ALL_ODD = "-rf; $(touch evil)`touch evil` a\\b'\" *ü€"
"""All of them in one name, but the newline, which a path of a job cannot have."""


@pytest.fixture(scope="module")
def place(
    deployed: None,  # noqa: ARG001 - what is made is made by the operator
    kubectl: Kubectl,
    kubeconfig: Path,
    images: dict[str, Image],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[EgpuPlace]:
    """Alice's namespace."""
    home, image = tmp_path_factory.mktemp("alice"), images["base"].reference
    with egpu_place(kubectl, kubeconfig, home, image) as made:
        yield made


@pytest.fixture(scope="module")
def shop() -> Iterator[Store]:
    """A store on this machine."""
    with store() as found:
        yield found


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with an image, a secret and names that a shell would take for something else."""
    folder = tmp_path / "project"
    (folder / "deep").mkdir(parents=True)
    (folder / "input.jpg").write_bytes(b"image")
    (folder / ".env").write_text("PASSWORD=x")
    for name in ODD:
        (folder / "deep" / name).write_text(name)
    return folder


def listed(place: EgpuPlace, job: str) -> dict[str, int]:
    """The files on a job's volume, and their sizes."""
    found = json.loads(place.alice.must("artifacts", job, "-o", "json"))["items"]
    return {item["name"]: item["size"] for item in found}


def test_a_project_is_there_before_the_job_and_its_result_comes_back(
    place: EgpuPlace, project: Path, tmp_path: Path
) -> None:
    place.create("project", "--project-dir", str(project), "--command", READS, "--wait")
    names = listed(place, "project").keys()
    assert {"input.jpg", "output.json", "deep/$(touch evil)", "deep/a\\nb"} <= names
    assert not {"evil", ".env"} & names
    # A name with a newline is not brought here, and all others are.
    said = place.alice.fails(1, "artifacts", "project", "--to", str(tmp_path / "results"))
    assert "left out: `deep/a\\nb`" in said
    assert (tmp_path / "results" / "output.json").read_bytes() == b"image"
    found = {path.name for path in (tmp_path / "results" / "deep").iterdir()}
    assert found == {*ODD} - {"a\nb"}
    assert place.helpers() == []


def test_what_a_job_leaves_on_its_volume_harms_nobody(
    place: EgpuPlace, shop: Store, project: Path, tmp_path: Path
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
    copy = ("copy-file", "plants", f"{shop.address}/image.jpg", "--allow-private", "--target-path")
    for name in ("out", "up"):
        said = place.alice.fails(1, *copy, f"/artifacts/{name}/image.jpg")
        assert "a link there leads out of the volume" in said
    place.alice.must(*copy, "/artifacts/passwd")

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
    found_there = listed(place, "plants")
    assert {"own/sent", "out-too", "up-too", "input.jpg"} <= found_there.keys()
    assert found_there["passwd"] == len(b"image"), "a file in the place of the link"


def test_a_url_makes_a_job_that_waits_and_create_completes_it(
    place: EgpuPlace, shop: Store
) -> None:
    line = ("copy-file", "from-url", "--allow-private")
    said = place.alice.must(*line, f"{shop.address}/image.jpg")
    assert said.startswith("/artifacts/input.jpg: 5 B, sha256 6105d6cc76af")
    assert place.job("from-url").get("eaj", "from-url")[0]["spec"]["suspend"]
    # Whatever is not whole, or leads inside, takes nobody's place.
    said = place.alice.fails(1, *line, f"{shop.address}/short")
    assert "did not arrive completely" in said
    assert "169.254.169.254" in place.alice.fails(5, *line, f"{shop.address}/keys")
    place.alice.must(
        *line, f"{shop.address}/image.jpg", "--target-path", f"/artifacts/odd/{ALL_ODD}"
    )
    assert listed(place, "from-url") == {"input.jpg": 5, f"odd/{ALL_ODD}": 5}
    place.create("from-url", "--command", READS, "--wait")
    assert place.helpers() == []


def test_two_who_send_the_same_file_at_once_leave_one_of_both(
    place: EgpuPlace, shop: Store, tmp_path: Path
) -> None:
    line = ("copy-file", "both", "--allow-private")
    place.job("both").apply(suspend=True)
    claim = place.job("both").claim
    wait_until(lambda: bool(place.job("both").get("pvc", claim)), "it has its volume")
    running = [place.alice.start(*line, f"{shop.address}/{letter}") for letter in "ab"]
    ends: list[Any] = [(one.communicate(timeout=120), one.returncode) for one in running]
    assert [code for _, code in ends] == [0, 0], ends
    place.alice.must("artifacts", "both", "--to", str(tmp_path / "results"))
    (file,) = (tmp_path / "results").iterdir()
    assert file.read_bytes() in {b"a" * LARGE, b"b" * LARGE}


def test_a_failed_job_shows_what_it_printed(place: EgpuPlace) -> None:
    command = ("--command", "sh -c 'echo broken; exit 7'")
    place.create("fails", *command, "--ttl", "600", "--no-wait")
    assert "exit code 7: broken" in place.alice.fails(1, "watch", "fails")
    assert place.alice.must("logs", "fails") == "broken\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)
def test_a_loader_goes_with_who_made_it(
    place: EgpuPlace, shop: Store, number: signal.Signals
) -> None:
    """A file is on its way: one half has been sent, and the other never comes."""
    shop.asked.clear()
    running = place.alice.start("copy-file", "ends", f"{shop.address}/slow", "--allow-private")
    wait_until(shop.asked.is_set, "the file is asked for")
    assert len(place.helpers()) == 1
    running.send_signal(number)
    running.communicate(timeout=60)
    assert running.returncode != 0
    wait_until(lambda: place.helpers() == [], "no loader is left")


def test_a_debug_pod_is_a_shell_on_the_volume(place: EgpuPlace, shop: Store) -> None:
    place.alice.must("copy-file", "debugged", f"{shop.address}/image.jpg", "--allow-private")
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
    # As people enter it.
    text = place.kubectl("exec", name[0], "-n", place.name, "--", "cat", "/mnt/input.jpg")
    assert text == "image"
    in_use = place.alice.fails(1, "delete", "debugged", "--delete-pvc")
    assert f"pod `{name[0]}` uses it" in in_use
    place.kubectl("-n", place.name, "delete", "pod", name[0])
    place.alice.must("delete", "debugged", "--delete-pvc")
