"""`devctl workers`: what people and programs see of the GPU workers API."""

from __future__ import annotations

import doctest
import json
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from devctl.cli.workers import options, submit
from devctl.client.workers import workers as module
from unit.client.workers_things import JOB, TOKEN, URL, WorkersApi, job, key, node, page, problem

if TYPE_CHECKING:
    from pathlib import Path

    from unit.cli.conftest import Devctl

LINES = [
    {"kind": "gpu", "quantity": 3600, "price": "1.20", "amount": "1.20"},
    {"kind": "core", "quantity": 14400, "price": "0.03", "amount": "0.12"},
]


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> WorkersApi:
    api = WorkersApi()
    monkeypatch.setenv("DEVCTL_WORKERS_URL", URL)
    monkeypatch.setenv("DEVCTL_WORKERS_TOKEN", TOKEN)
    made = partial(module.Workers, transport=httpx2.MockTransport(api))
    monkeypatch.setattr(module, "Workers", made)
    monkeypatch.setattr("devctl.client.workers.api._sleep", lambda _: None)
    monkeypatch.setattr("devctl.client.workers.jobs.time.sleep", lambda _: None)
    return api


def test_examples() -> None:
    for each in (options, submit):
        assert doctest.testmod(each).failed == 0


def test_nodes(gateway: WorkersApi, devctl: Devctl) -> None:
    gateway.add("GET nodes/", page(node(), node("gpu-2", "maintenance")))
    assert devctl("workers", "nodes").stdout.splitlines() == [
        "ID                NODE        STATE        GPUS  TYPE      GPU MEMORY  GPU HOUR  SEEN",
        "gpu-0123456789ab  gpu-node-1  active       2     RTX 4090  24Gi        1.20      30s",
        "gpu-2             gpu-node-1  maintenance  2     RTX 4090  24Gi        1.20      30s",
    ]
    assert "0.004" in devctl("workers", "nodes", "-o", "wide").stdout
    assert devctl("workers", "nodes", "-o", "name").stdout.splitlines()[1] == "node/gpu-2"
    found = json.loads(devctl("workers", "nodes", "-o", "json").stdout)["items"]
    assert found[0] == node()


def test_where_a_job_fits(gateway: WorkersApi, devctl: Devctl) -> None:
    free = {"gpus": 1, "cpu_cores": 8, "memory": 32768, "job_slots": 1}
    fits = {name: value for name, value in node().items() if name not in {"state", "hostname"}}
    gateway.add(
        "GET available-nodes/",
        {"items": [{**fits, "free": free}], "reason": ""},
        {"items": [], "reason": "1 of 1 nodes: GPU memory (MB): 65536 wanted, 24576 free"},
    )
    found = devctl("workers", "nodes", "--gpu-memory", "16Gi", "--cpu", "4")
    assert found.stdout.splitlines()[1].startswith("gpu-0123456789ab  gpu-node-1  1 ")
    assert "gpu_memory_required=16384&cpu_cores_required=4" in gateway.lines[-1]
    none = devctl("workers", "nodes", "--gpu-memory", "64Gi")
    assert (none.code, none.stdout) == (3, "")
    assert "it fits nowhere now: 1 of 1 nodes: GPU memory" in none.stderr
    document = devctl("workers", "nodes", "--gpu-memory", "64Gi", "-o", "json")
    assert json.loads(document.stdout)["items"] == []
    assert document.code == 3


def test_jobs(gateway: WorkersApi, devctl: Devctl) -> None:
    waits = job("job-2", "pending", reason="Queued", queue_position=3)
    gateway.add("GET jobs/", page(waits, job("job-1")))
    listed = devctl("workers", "jobs", "--state", "pending", "--node", "gpu-1").stdout.splitlines()
    assert listed[0].split()[:5] == ["ID", "NAME", "STATE", "REASON", "PLACE"]
    assert listed[1].split()[:5] == ["job-2", "training", "pending", "Queued", "3"]
    assert gateway.lines == ["GET jobs/?limit=200&state=pending&node_id=gpu-1"]
    assert "gpu-0123456789ab" in devctl("workers", "jobs", "-o", "wide").stdout
    assert devctl("workers", "jobs", "--limit", "1", "-o", "name").stdout == "workerjob/job-2\n"
    gateway.answers["GET jobs/"] = [page()]
    assert devctl("workers", "jobs") == (0, "", "no jobs\n")


def test_show(gateway: WorkersApi, devctl: Devctl) -> None:
    ended: dict[str, Any] = {
        "finished_at": "2026-01-02T11:58:00Z",
        "exit_code": 7,
        "reason": "NonZeroExit",
    }
    gateway.add(f"GET jobs/{JOB}", job(state="failed", message="it ended with 7", **ended))
    lines = devctl("workers", "show", JOB).stdout.splitlines()
    assert lines[:5] == [
        f"ID:           {JOB}",
        "Name:         training",
        "State:        failed (NonZeroExit)",
        "              it ended with 7",
        "Exit code:    7",
    ]
    assert "GPUs:         1 of 8Gi or more" in lines
    assert "Node:         gpu-node-1 (gpu-0123456789ab)" in lines
    assert "Took:         2m" in lines
    assert "Cost:         0.10 USD" in lines
    assert devctl("workers", "show", JOB, "-o", "jsonpath={.state}").stdout == "failed"
    missing = devctl("workers", "show", "job-9")
    assert (missing.code, missing.stdout) == (3, "")


def test_show_says_whose_turn_it_is_and_what_each_gpu_has(
    gateway: WorkersApi, devctl: Devctl
) -> None:
    memory: dict[str, Any] = {"gpu_count": 2, "gpu_memory_required": 16384}
    gateway.add(f"GET jobs/{JOB}", job(state="pending", queue_position=3, **memory))
    lines = devctl("workers", "show", JOB).stdout.splitlines()
    assert "Place:        3 of those that wait" in lines
    assert "GPUs:         2 of 8Gi or more" in lines


def test_delete(gateway: WorkersApi, devctl: Devctl) -> None:
    gateway.add("GET jobs/job-1", job("job-1"))
    gateway.add("DELETE jobs/job-1", httpx2.Response(204))
    wrong = devctl("workers", "delete", "job-1", "job-9")
    assert (wrong.code, wrong.stdout) == (3, "")
    assert not any(line.startswith("DELETE") for line in gateway.lines)
    assert devctl("workers", "delete", "job-1") == (0, "workerjob/job-1 deleted\n", "")
    assert gateway.lines[-1] == "DELETE jobs/job-1"
    found = devctl("workers", "delete", "job-1", "-o", "json")
    assert json.loads(found.stdout)["job_id"] == "job-1"


def test_what_a_job_says_cannot_reach_the_terminal(gateway: WorkersApi, devctl: Devctl) -> None:
    bad = "\x1b]0;owned\x07"
    gateway.add(f"GET jobs/{JOB}", job(job_name=bad, message=bad, reason=bad))
    gateway.add("GET jobs/", page(job(job_name=bad, reason=bad)))
    for line in (("show", JOB), ("jobs",), ("jobs", "-o", "json")):
        assert "\x1b" not in devctl("workers", *line).stdout


def test_submit(gateway: WorkersApi, devctl: Devctl) -> None:
    gateway.add("POST jobs/", httpx2.Response(201, json=job(state="pending")))
    line = ("--gpu-memory", "8Gi", "--input", '{"epochs": 3}', "-e", "A=b", "--timeout", "2h")
    found = devctl("workers", "submit", "a/train:v1", *line, "--no-wait", "--", "python", "-c", "1")
    assert (found.code, found.stdout) == (0, f"workerjob/{JOB} submitted\n")
    assert f"`devctl workers logs -f {JOB}`" in found.stderr
    assert gateway.body() == {
        "job_name": "train",
        "docker_image": "a/train",
        "docker_tag": "v1",
        "gpu_memory_required": 8192,
        "input_data": {"epochs": 3},
        "env": [{"name": "A", "value": "b"}],
        "command": ["python", "-c", "1"],
        "timeout_seconds": 7200,
    }
    named = devctl("workers", "submit", "a", "--no-wait", "-o", "name", "--key", "mine")
    assert named == (0, f"workerjob/{JOB}\n", "")
    assert gateway.asked[-1].headers["Idempotency-Key"] == "mine"


def test_a_submission_that_waits_ends_with_the_programs_code(
    gateway: WorkersApi, devctl: Devctl
) -> None:
    gateway.add("POST jobs/", httpx2.Response(201, json=job(state="pending")))
    gateway.add(f"GET jobs/{JOB}", job(), job(state="completed", exit_code=0))
    done = devctl("workers", "submit", "a", "--wait")
    assert (done.code, done.stdout) == (0, f"workerjob/{JOB} submitted\n")
    assert f"`{JOB}` is completed: 0.10 USD" in done.stderr
    gateway.answers[f"GET jobs/{JOB}"] = [
        httpx2.Response(200, json=job(state="failed", exit_code=7, reason="NonZeroExit"))
    ]
    failed = devctl("workers", "submit", "a", "--wait")
    assert failed.code == 7
    assert f"error: {JOB}: failed (NonZeroExit)" in failed.stderr


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("a --input [1]", "not a JSON object"),
        ("a --input {", "not JSON"),
        ("a --input @/no/such", "cannot be read"),
        ("a -e x", "is not NAME=VALUE"),
        ("a --memory x", "write for example `16Gi`"),
        ("a --gpus 9", "--gpus"),
        ("a --timeout 0", "--timeout"),
        (":v1", "is not an image"),
    ],
)
def test_what_cannot_be_asked_for_is_refused_here(
    line: str, says: str, gateway: WorkersApi, devctl: Devctl
) -> None:
    found = devctl("workers", "submit", *line.split())
    assert (found.code, gateway.asked) == (2, [])
    assert says in found.stderr


def test_no_credit_is_a_refusal(gateway: WorkersApi, devctl: Devctl) -> None:
    said = "the account has no credit left: ask an administrator for more"
    gateway.add("POST jobs/", problem(402, said, "No credit left"))
    found = devctl("workers", "submit", "a")
    assert found.code == 5
    assert f"error: {said}\n" in found.stderr


def test_logs(gateway: WorkersApi, devctl: Devctl) -> None:
    gateway.add(f"GET jobs/{JOB}/logs", httpx2.Response(200, content=b"one\ntwo\n"))
    assert devctl("workers", "logs", "-f", JOB).stdout == "one\ntwo\n"
    assert gateway.lines == [f"GET jobs/{JOB}/logs?follow=true"]


FILES = {
    "items": [
        {"path": "loss.csv", "size": 34_000, "modified": "2026-01-02T11:55:00Z"},
        {"path": "out/model.pt", "size": 7, "modified": "2026-01-02T11:59:30Z"},
    ],
    "next_cursor": None,
    "truncated": False,
}


def test_artifacts(gateway: WorkersApi, devctl: Devctl) -> None:
    gateway.add(f"GET jobs/{JOB}/artifacts", FILES)
    found = devctl("workers", "artifacts", JOB)
    assert found.stdout.splitlines() == [
        "NAME          SIZE   AGE",
        "loss.csv      34 KB  5m",
        "out/model.pt  7 B    30s",
    ]
    assert f"`devctl workers pull {JOB}`" in found.stderr
    document = json.loads(devctl("workers", "artifacts", JOB, "-o", "json").stdout)
    assert document["items"][1]["path"] == "out/model.pt"
    gateway.answers.clear()
    gateway.add(f"GET jobs/{JOB}/artifacts", {**FILES, "items": [], "truncated": True})
    none = devctl("workers", "artifacts", JOB)
    assert (none.code, none.stdout) == (0, "")
    assert none.stderr.splitlines()[0] == "no files"
    assert "more files than the API lists" in none.stderr


def test_pull(gateway: WorkersApi, devctl: Devctl, tmp_path: Path) -> None:
    gateway.add(f"GET jobs/{JOB}/artifacts", FILES)
    for path in ("loss.csv", "out/model.pt"):
        gateway.add(f"GET jobs/{JOB}/artifacts/{path}", httpx2.Response(200, content=b"weights"))
    into = tmp_path / "results"
    found = devctl("workers", "pull", JOB, "--to", str(into))
    assert (found.code, found.stdout, found.stderr) == (0, "", f"{into}: 2 files, 14 B\n")
    assert (into / "out/model.pt").read_bytes() == b"weights"
    (into / "loss.csv").write_bytes(b"mine")
    refused = devctl("workers", "pull", JOB, "--to", str(into))
    assert refused.code == 1
    assert "would be replaced" in refused.stderr
    assert (into / "loss.csv").read_bytes() == b"mine"


def test_pull_makes_a_folder_of_the_job_s_name_and_says_what_is_missing(
    gateway: WorkersApi, devctl: Devctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    gateway.add(f"GET jobs/{JOB}/artifacts", {**FILES, "truncated": True})
    gateway.add(f"GET jobs/{JOB}/artifacts/loss.csv", httpx2.Response(200, content=b"1"))
    found = devctl("workers", "pull", JOB)
    assert found.code == 1
    assert found.stderr.splitlines() == [
        f"{JOB}: 1 file, 1 B",
        "left out: `out/model.pt`: it is gone since it was listed",
        "left out: there are more files than the API lists",
    ]
    assert (tmp_path / JOB / "loss.csv").read_bytes() == b"1"


def test_cancel_leaves_alone_what_has_ended(gateway: WorkersApi, devctl: Devctl) -> None:
    gateway.add(f"POST jobs/{JOB}/cancel", httpx2.Response(202, json=job()))
    gateway.add("POST jobs/job-2/cancel", problem(409, "the job has ended: it is completed"))
    gateway.add("GET jobs/job-2", job("job-2", "completed"))
    found = devctl("workers", "cancel", JOB, "job-2")
    said = f"workerjob/{JOB} cancelled\nworkerjob/job-2 has ended already\n"
    assert (found.code, found.stdout) == (0, said)
    assert devctl("workers", "cancel", "job-9").code == 3


def test_cost_of_a_job(gateway: WorkersApi, devctl: Devctl) -> None:
    about = {"job_id": JOB, "currency": "USD", "amount": "1.32", "final": False}
    gateway.add(f"GET jobs/{JOB}/cost", {**about, "lines": LINES})
    assert devctl("workers", "cost", JOB).stdout.splitlines() == [
        "KIND  HELD                PRICE  AMOUNT",
        "gpu   3600 GPU seconds    1.20   1.20",
        "core  14400 core seconds  0.03   0.12",
        "",
        "until now: 1.32 USD",
    ]
    assert json.loads(devctl("workers", "cost", JOB, "-o", "json").stdout)["amount"] == "1.32"
    assert devctl("workers", "cost", JOB, "--month", "2026-05").code == 2
    assert devctl("workers", "cost", JOB, "-o", "csv").code == 2


def test_cost_of_a_month_and_what_is_left(gateway: WorkersApi, devctl: Devctl) -> None:
    lines = [{**line, "job_id": JOB} for line in LINES]
    sums = {"charged": "1.32", "credited": "10.00", "currency": "USD"}
    month = {"account_id": "acc-1", "month": "2026-05", "lines": lines, **sums}
    gateway.add("GET invoices/2026-05", month)
    shown = devctl("workers", "cost", "--month", "2026-05").stdout
    assert shown.splitlines()[-1] == "charged in 2026-05: 1.32 USD, 10.00 USD credited"
    gateway.answers["GET invoices/2026-05"] = [httpx2.Response(200, text="job_id,kind\n")]
    assert devctl("workers", "cost", "--month", "2026-05", "-o", "csv").stdout == "job_id,kind\n"
    assert gateway.asked[-1].headers["Accept"] == "text/csv"
    left = {"currency": "USD", "settled": "8.68", "open": "0.00", "left": "8.68"}
    gateway.add("GET accounts/me/balance", left, left | {"open": "0.10", "left": "8.58"})
    assert devctl("workers", "cost").stdout == "left: 8.68 USD\n"
    assert "0.10 that is not charged yet" in devctl("workers", "cost").stdout


def test_keys(gateway: WorkersApi, devctl: Devctl) -> None:
    ends = {"expires_at": "2026-01-02T11:30:00Z"}
    gateway.add("GET keys/", page(key(), key(id="key-2", **ends)))
    listed = devctl("workers", "keys", "list").stdout.splitlines()
    assert "never" in listed[1]
    assert "expired" in listed[2]
    gateway.add("POST keys/", httpx2.Response(201, json=key(key="gpw_secret")))
    made = devctl("workers", "keys", "create", "ci", "--expires", "30d")
    assert made.stdout == "gpw_secret\n"
    assert "shown this once" in made.stderr
    assert gateway.body() == {"name": "ci", "expires_in_seconds": 30 * 86400}
    gateway.add("POST keys/key-2/rotate", httpx2.Response(201, json=key(key="gpw_next")))
    rotated = devctl("workers", "keys", "rotate", "key-2", "-o", "json")
    assert json.loads(rotated.stdout)["key"] == "gpw_next"
    gateway.add("DELETE keys/key-2", httpx2.Response(204))
    assert devctl("workers", "keys", "revoke", "key-2").stdout == "key/key-2 revoked\n"


def test_without_an_address_it_says_how_to_set_one(
    monkeypatch: pytest.MonkeyPatch, devctl: Devctl
) -> None:
    monkeypatch.delenv("DEVCTL_WORKERS_URL", raising=False)
    found = devctl("workers", "nodes")
    assert found.code == 2
    assert (
        "fix: set DEVCTL_WORKERS_URL, or call `devctl config set workers_url URL`" in found.stderr
    )


def test_a_saved_token_is_not_listed(devctl: Devctl) -> None:
    assert devctl("config", "set", "workers_token", "s3cret").code == 0
    for line in ((), ("-o", "json"), ("-o", "yaml")):
        assert "s3cret" not in devctl("config", "list", *line).stdout
    assert devctl("config", "get", "workers_token").stdout == "s3cret\n"
