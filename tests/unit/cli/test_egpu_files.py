"""The commands of `egpu` that move files, with a volume that is a folder here."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from unit.cli.egpu_program import egpu, fetches, project, there
from unit.client.fake_cluster import NAMESPACE, FakeApi
from unit.client.job_things import CLAIMS, JOBS, KEY, PODS, claim, helpers_run, job
from unit.client.pods import tree

if TYPE_CHECKING:
    from pathlib import Path

    from unit.cli.egpu_program import Egpu

__all__ = ["egpu", "project", "there"]

SEED = """
egpu create my-job --project-dir ./my-code --input-path /artifacts/image.jpg
egpu create training-job --project-dir ./my-code --input-path /artifacts/input.jpg --pvc-ttl 86400
egpu copy-file my-job https://example.com/image.jpg --target-path /artifacts/input.jpg
egpu debug my-job --keep
egpu get my-job
egpu list
egpu cleanup
egpu cleanup --namespace gpu-demo
egpu create sample-inference --project-dir ./my-code --input-path /artifacts/sample.jpg
egpu create my-inference --project-dir ./my-code --model resnet50 --pvc-ttl 3600
egpu copy-file fresh-job https://example.com/image.jpg
egpu create fresh-job
egpu delete my-job --delete-pvc
"""


def test_the_commands_of_the_seed_run_as_written(
    api: FakeApi, egpu: Egpu, there: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trap of the seed: its `create` never ran, for two of its options had one name."""
    monkeypatch.chdir(project.parent)
    fetches(monkeypatch)
    for line in SEED.strip().splitlines():
        found = egpu(*line.split()[1:])
        assert found.code == 0, (line, found)
        for _, name in [key[1:] for key in api.things if key[0] == PODS]:
            assert name.startswith("debug-my-job-")
            api.drop(PODS, name)
    assert sorted(api.names(JOBS)) == [
        "fresh-job",
        "my-inference",
        "sample-inference",
        "training-job",
    ]
    assert api.names(CLAIMS).count("artifacts-my-job") == 0
    made = api.things[JOBS, NAMESPACE, "training-job"]["spec"]
    assert made["pvcTTLSecondsAfterFinished"] == 86400
    assert not [k for k in api.names(JOBS) if api.things[JOBS, NAMESPACE, k]["spec"].get("suspend")]
    assert tree(there)["image.jpg"] == b"image"


def test_create_sends_the_folder_before_the_job_may_start(
    api: FakeApi, egpu: Egpu, there: Path, project: Path
) -> None:
    found = egpu("create", "my-job", "--project-dir", str(project))
    assert (found.code, found.stdout) == (0, "ephemeralaccelerationjob/my-job created\n")
    assert found.stderr.splitlines() == [
        "left out, as they look like secrets: `.env`",
        "my-job: waiting for its volume",
        "artifacts-my-job:/artifacts: 1 file, 5 B sent and checked",
        "next: `egpu watch my-job` follows it",
    ]
    assert tree(there) == {"image.jpg": b"image"}
    writes = [r for r in api.requests if r.split()[0] in {"POST", "PATCH", "DELETE"}]
    kinds = [r.split("/")[0] for r in writes]
    assert kinds == [f"POST {JOBS}", f"POST {PODS}", f"DELETE {PODS}", f"PATCH {JOBS}"]
    assert api.things[KEY]["spec"]["suspend"] is False


def test_a_folder_that_cannot_be_sent_makes_nothing(
    api: FakeApi, egpu: Egpu, there: Path, project: Path
) -> None:
    (project / "out").symlink_to("/etc")
    assert egpu("create", "my-job", "--project-dir", str(project)).code == 1
    assert egpu("create", "my-job", "--project-dir", "missing").code == 2
    assert api.names(JOBS) == []
    assert tree(there) == {}


def test_files_that_did_not_arrive_keep_the_job_waiting(
    api: FakeApi, egpu: Egpu, project: Path, there: Path
) -> None:
    api.refusals["POST", PODS] = (403, "pods is forbidden")
    line = ("create", "my-job", "--project-dir", str(project))
    found = egpu(*line)
    assert found.code == 5
    assert "`my-job` is waiting for its files: repeat the command" in found.stderr
    assert api.things[KEY]["spec"]["suspend"] is True
    api.refusals.clear()
    assert egpu(*line).code == 0
    assert api.things[KEY]["spec"]["suspend"] is False
    assert tree(there) == {"image.jpg": b"image"}


def test_copy_file_makes_a_job_that_waits(
    api: FakeApi, egpu: Egpu, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = fetches(monkeypatch)
    found = egpu("copy-file", "my-job", "https://example.com/cat.jpg", "--max-size", "5M")
    assert found.code == 0
    assert found.stdout == "/artifacts/input.jpg: 5 B, sha256 6105d6cc76af…\n"
    assert "ephemeralaccelerationjob/my-job created (suspended)" in found.stderr
    assert "next: `egpu create my-job` starts the job" in found.stderr
    assert tree(there) == {"input.jpg": b"image"}
    assert asked[0][:3] == (5_000_000, 600.0, False)
    assert api.things[KEY]["spec"]["suspend"] is True
    assert egpu("create", "my-job", "--model", "mobilenet_v3_small").code == 0
    assert api.things[KEY]["spec"]["suspend"] is False


def test_copy_file_goes_onto_the_volume_of_a_job_that_ended_or_is_gone(
    api: FakeApi, egpu: Egpu, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetches(monkeypatch)
    api.add(JOBS, job("my-job", "Succeeded", spec={"input": {"path": "/artifacts/in/a.jpg"}}))
    api.add(CLAIMS, claim(), claim("gone"))
    assert egpu("copy-file", "my-job", "https://example.com/cat.jpg").code == 0
    assert egpu("copy-file", "gone", "http://a/", "--target-path", "b.jpg").code == 0
    assert sorted(tree(there)) == ["b.jpg", "in/a.jpg"]
    assert api.names(JOBS) == ["my-job"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("file:///etc/passwd",),
        ("https://user:secret@example.com/a",),
        ("https://example.com/a", "--target-path", "../../etc/passwd"),
        ("https://example.com/a", "--target-path", "/etc/passwd"),
        ("https://example.com/a", "--max-size", "none"),
        ("https://example.com/a", "--max-size", "0"),
    ],
)
def test_copy_file_that_cannot_be_makes_nothing(
    arguments: tuple[str, ...], api: FakeApi, egpu: Egpu
) -> None:
    assert egpu("copy-file", "my-job", *arguments).code == 2
    assert api.requests == []


def test_artifacts(api: FakeApi, egpu: Egpu, there: Path, tmp_path: Path) -> None:
    api.add(CLAIMS, claim())
    assert egpu("artifacts", "my-job").stderr == "there are no files on the volume of `my-job`\n"
    (there / "output.json").write_text("{}")
    (there / "bad\n\x1b[31mname").write_text("x")
    found = egpu("artifacts", "my-job")
    names = [line.split("  ")[0] for line in found.stdout.splitlines()]
    assert names == ["NAME", r"bad\n\x1b[31mname", "output.json"]
    assert found.stderr == "`egpu artifacts my-job --to results` downloads them\n"
    document = json.loads(egpu("artifacts", "my-job", "-o", "json").stdout)
    assert {item["name"] for item in document["items"]} == {
        "output.json",
        "bad\\n\\x1b[31mname",
    }
    found = egpu("artifacts", "my-job", "--to", str(tmp_path / "results"))
    assert found.code == 1
    assert "left out: `bad\\n\\x1b[31mname`: its name holds control characters" in found.stderr
    assert tree(tmp_path / "results") == {"output.json": b"{}"}
    assert egpu("artifacts", "my-job", "--to", "x", "-o", "json").code == 2
    assert api.names(PODS) == []


def test_no_git_repository_is_fetched(
    api: FakeApi, egpu: Egpu, there: Path, tmp_path: Path
) -> None:
    api.add(CLAIMS, claim())
    (there / ".git" / "hooks").mkdir(parents=True)
    (there / ".git" / "hooks" / "post-checkout").write_text("evil")
    (there / "output.json").write_text("{}")
    found = egpu("artifacts", "my-job", "--to", str(tmp_path))
    assert (found.code, found.stderr[:35]) == (0, "left out: 1 file of git (`.git`), w")
    assert not (tmp_path / ".git").exists()


def test_debug_off_a_terminal_stays_until_it_is_ended(
    api: FakeApi, egpu: Egpu, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from devctl.cli.egpu import files  # noqa: PLC0415

    def interrupt(_pod: str) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(files, "_wait", interrupt)
    api.add(CLAIMS, claim())
    found = egpu("debug", "my-job")
    assert found.code == 130
    assert found.stdout.startswith("kubectl exec -it debug-my-job-20")
    assert found.stdout.endswith(f" -n {NAMESPACE} -- sh\n")
    assert api.names(PODS) == []
    assert egpu("debug", "my-job", "--keep").code == 0
    assert len(api.names(PODS)) == 1
    assert there.is_dir()


def test_a_debug_pod_that_does_not_start_is_not_kept(api: FakeApi, egpu: Egpu) -> None:
    helpers_run(api)
    api.made = lambda plural, thing: (
        thing.update(status={"phase": "Failed", "reason": "Evicted"}) if plural == PODS else None
    )
    api.add(CLAIMS, claim())
    assert egpu("debug", "my-job", "--keep").code == 1
    assert api.names(PODS) == []
