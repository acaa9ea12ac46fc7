"""Every command and manifest that people rely on, typed as it is in `job_interface`.

A shell runs each, on a real terminal where somebody is to type. What is put in for `<job-name>`
and the like is a name; URLs of example.com become those of a store of the test's. The weights are
untrained: the test gives them to its jobs as a user gives theirs.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pexpect
import pytest
from support import job_interface, resnet
from support.command_line import PROGRAM, CommandLine
from support.job_interface import COPY as COPY_BY_HAND
from support.job_interface import JOB, JOBS, MAKE, NODE, SAMPLE, URL, command
from support.reader import Person
from support.servers import wait_until

from devctl.local.paths import REPOSITORY, cache_paths
from devctl.local.status import find_kubectl

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devctl.local.paths import ClusterPaths
    from devctl.local.settings import ClusterSettings

# What devctl does otherwise, or what nobody runs on a cluster that others use, and why.
ELSEWHERE = {
    "install by pip": "`make cli`, with locked versions; all tests run in what it installs",
    "make cli": "what the tests run in",
    "make build": "is `make load`: it builds what is missing",
    "make load": "loads into the local cluster `devctl`; the tests do the same with theirs",
    "make install": "deploys to the local cluster `devctl`; the tests do the same with theirs",
    "import the operator": "`devctl local load operator.tar`",
    "import jobs": "`devctl local load job.tar`",
    "operator by hand": "the operator runs Ansible roles, in the cluster: `make deploy`",
    "uninstall": "there is no chart: `kubectl delete -k config/local`",
}

# What only looks, at any time: its exit code, and what it says. `grep` finds nothing: `-o wide`
# shows no labels on any cluster, and the plugin here is not NVIDIA's.
LOOKS = [
    (command("cluster"), 0, "Kubernetes control plane.* is running at"),
    (command("nodes"), 1, "^$"),
    (command("plugins"), 0, "No resources found"),
    (command("storage"), 0, "\nlonghorn "),
    (command("describe a node"), 0, "nvidia.com/gpu: +4"),
    (command("plugin"), 1, "^$"),
    (command("logs of the operator"), 0, "No resources found"),
    (command("describe the operator"), 0, "No resources found"),
    (command("cleanup elsewhere"), 0, "nothing to clean up"),
    (command("make artifacts"), 0, "egpu artifacts my-inference-job --to results"),
    (command("make status"), 0, "(?m)^ *(NAMESPACE|no jobs)"),
    (f"{command('delete the kind')} --dry-run=server", 0, "jobs.gpu.yourdomain.io.* deleted"),
]

CREATE, CREATE_DAY = command("create"), command("create kept for a day")
CREATE_HOUR, CREATE_SAMPLE = command("create kept for an hour"), command("create the sample")
COPY, COPY_SAMPLE = command("copy"), command("copy to the sample")
WATCH, WATCH_HOUR = command("watch"), command("watch the hour's")
WATCH_SAMPLE = command("watch the sample")
GET, GET_HOUR, GET_SAMPLE = command("get"), command("get the hour's"), command("get the sample")
LIST, CLEANUP = command("list"), command("cleanup")
DEBUG, DEBUG_SAMPLE = command("debug"), command("debug the sample")
ENTER, ENTER_SAMPLE = command("enter"), command("enter the sample's")
DELETE, DELETE_SAMPLE = command("delete"), command("delete the sample")
APPLY, WAIT_BOUND = command("apply"), command("wait for the volume")
RUN_COPY, RUN_LOOK = command("pod to copy"), command("pod to look")
WATCH_JOBS, WATCH_PODS = command("watch jobs"), command("watch pods")
DESCRIBE_SAMPLE, LOGS = command("describe the sample"), command("logs of jobs")
KUBECTL_DELETE, DELETE_CLAIM = command("delete by kubectl"), command("delete the volume")
TROUBLE = [
    (command("describe a pod"), "Started .*Container started"),
    (command("logs of one"), "waiting up to 120 s for /artifacts/input.jpg"),
    (command("describe one"), "Pvc TTLSeconds After Finished: +86400"),
    (command("volume of one"), "artifacts-training-job +Bound"),
]
MAKE_EXAMPLE, MAKE_CLEAN, MAKE_LOGS = map(command, ("make example", "make clean", "make logs"))


def by_make(line: str) -> str:
    """A target of make; what it would install first is what the tests run in."""
    return line.replace("make ", "make -o .venv/installed ")


@pytest.fixture(scope="module")
def person(
    inference_image: str,  # noqa: ARG001 - what is typed runs it; it is deployed, too
    cluster: ClusterSettings,
    paths: ClusterPaths,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Person]:
    kubectl = find_kubectl(cache_paths())
    assert kubectl
    home = tmp_path_factory.mktemp("home")
    resnet.write(home / "my-code", "image.jpg")
    resnet.picture(home / "ml-project" / "other.jpg")
    resnet.write(home / "my-ml-project", "input.jpg")
    resnet.write(home / "resources", "sample.jpg")
    sample = json.dumps(job_interface.manifest(SAMPLE))
    (home / "resources" / "ephemeralaccelerationjob.yaml").write_text(sample)
    path = f"{PROGRAM.parent}:{kubectl.parent}:{os.environ['PATH']}"
    shell = CommandLine(paths.kubeconfig, "default", home, {"PATH": path}, Path("/bin/sh"))
    files = partial(_Files, directory=home / "my-code")
    hosts = ("127.0.0.1", str(cluster.gateway))
    stores = [ThreadingHTTPServer((host, 0), files) for host in hosts]
    for store in stores:
        threading.Thread(target=store.serve_forever, daemon=True).start()
    urls = (f"http://{store.server_address[0]!s}:{store.server_address[1]}" for store in stores)
    yield Person(shell, *urls)
    for store in stores:
        store.shutdown()
    shell("-c", "kubectl delete pod copy-pod debug-pod --ignore-not-found --now")


@pytest.fixture
def tidy(person: Person) -> Iterator[None]:
    """Nothing of a job is left in the way of the next."""
    yield
    names = " ".join(f"eaj/{name} pvc/artifacts-{name}" for name in JOBS)
    person.types(f"kubectl delete --ignore-not-found --wait=false {names}")
    wait_until(lambda: not person.there("pvc", *(f"artifacts-{name}" for name in JOBS)), "all gone")


class _Files(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_no_command_is_forgotten() -> None:
    assert job_interface.asked_for.isdisjoint(ELSEWHERE)
    assert job_interface.asked_for | {*ELSEWHERE} == {*job_interface.COMMANDS}


def test_every_target_of_make_is_there() -> None:
    result = subprocess.run(
        ["make", "--dry-run", *MAKE], cwd=REPOSITORY, capture_output=True, check=False, text=True
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(("line", "code", "said"), LOOKS, ids=[line for line, _, _ in LOOKS])
def test_what_looks_at_a_cluster(person: Person, line: str, code: int, said: str) -> None:
    node = person.types("kubectl get nodes -o name").split()[0].removeprefix("node/")
    folder = REPOSITORY if line.startswith("make") else None
    assert re.search(said, person.types(by_make(line).replace(NODE, node), code, folder))


@pytest.mark.usefixtures("tidy")
def test_a_job_without_its_input(person: Person) -> None:
    assert "training-job created" in person.types(CREATE_DAY)
    person.follows(WATCH_PODS, r"ephemeralaccelerationjob-training-job +1/1 +Running")
    for line, said in TROUBLE:
        person.finds(line.replace(JOB, "training-job"), said)
    assert "artifacts-training-job is kept: its job has not ended" in person.types(CLEANUP)
    said = person.types(by_make(MAKE_LOGS), cwd=REPOSITORY)
    assert re.search(
        r"\[pod/ephemeralaccelerationjob-training-job/.*\] .*waiting up to 120 s", said
    )


@pytest.mark.usefixtures("tidy")
def test_jobs_of_projects(person: Person) -> None:
    for line in (CREATE, CREATE_HOUR, CREATE_SAMPLE):
        assert re.search("ephemeralaccelerationjob/.* created", person.types(line))
    for line in (WATCH, WATCH_HOUR, WATCH_SAMPLE):
        assert "succeeded" in person.types(line)
    for line in (GET, GET_HOUR):
        assert re.search(r"Result: +/artifacts/output.json", person.types(line))
    assert {"my-job", "my-inference", "sample-inference"} <= {*person.types(LIST).split()}
    assert "sha256" in person.fetches(COPY)
    person.debugs(DEBUG, ENTER)
    for line, name in ((DELETE, "my-job"), (DELETE_SAMPLE, "sample-inference")):
        said = person.types(line)
        assert f"ephemeralaccelerationjob/{name} deleted" in said
        assert f"persistentvolumeclaim/artifacts-{name} deleted" in said


@pytest.mark.usefixtures("tidy")
def test_the_sample_with_kubectl(person: Person) -> None:
    assert "sample-inference created" in person.types(APPLY)
    # `kubectl wait` does not wait for what is not there yet; a reader takes a second to type it.
    wait_until(lambda: bool(person.there("pvc", "artifacts-sample-inference")), "it has a volume")
    assert "condition met" in person.types(WAIT_BOUND)
    assert "sample-inference unchanged" in person.types(APPLY)
    # kubectl takes the words behind `--` away with the container that the overrides replace: on any
    # cluster they are not run, and so they are typed.
    copying = person.sits_at(RUN_COPY)
    for source, target in {
        "resnet50.safetensors": "resnet50.safetensors",
        "resnet50-labels.json": "resnet50-labels.json",
        "image.jpg": "copied.jpg",
    }.items():
        line = COPY_BY_HAND.replace(URL, f"{person.store_of_pods}/{source}")
        copying.sendline(line.replace("input.jpg", target))
        copying.expect(f"'/mnt/{target}' saved")
    copying.sendline("exit")
    person.follows(WATCH_JOBS, r"sample-inference +resnet50 +1 +Running")
    person.follows(WATCH_PODS, r"ephemeralaccelerationjob-sample-inference +1/1 +Running")
    person.finds(LOGS, "waiting up to 120 s")
    assert "/artifacts/input.jpg: " in person.fetches(COPY_SAMPLE)
    assert "succeeded" in person.types(WATCH_SAMPLE)
    assert re.search(r"Phase: +Succeeded", person.types(DESCRIBE_SAMPLE))
    assert "/artifacts/output.json" in person.types(GET_SAMPLE)
    copying.expect(pexpect.EOF)
    found = json.loads(person.types("kubectl get eaj sample-inference -o json"))["status"]
    for name, value in job_interface.STATUS.items():
        assert found[name], name
        assert value in {None, found[name].replace(SAMPLE, "{job}")}, name
    person.debugs(DEBUG_SAMPLE, ENTER_SAMPLE)
    person.looks_at_the_result(person.sits_at(RUN_LOOK))
    assert "deleted" in person.types(KUBECTL_DELETE)
    assert "deleted" in person.types(DELETE_CLAIM)


@pytest.mark.usefixtures("tidy")
def test_the_manifest_by_make(person: Person) -> None:
    example = person.shell.start("-c", f"exec {by_make(MAKE_EXAMPLE)}", cwd=REPOSITORY)
    wait_until(lambda: bool(person.there("eaj", "my-inference-job")), "the example is applied")
    copy = COPY.replace("my-job", "my-inference-job")
    for file in ("resnet50.safetensors", "resnet50-labels.json", "image.jpg"):
        person.fetches(copy, file, "input.jpg" if file == "image.jpg" else file)
    said, errors = example.communicate(timeout=120)
    assert b"ephemeralaccelerationjob/my-inference-job succeeded" in said, errors
    assert example.returncode == 0
    assert "my-inference-job deleted" in person.types(by_make(MAKE_CLEAN), cwd=REPOSITORY)
