"""Every command and manifest of the text that people have jobs from, typed as it stands there.

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
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pexpect
import pytest
import yaml
from support import given, resnet
from support.command_line import PROGRAM, CommandLine
from support.given import command
from support.reader import URL, Person
from support.servers import wait_until

from devctl.local.paths import REPOSITORY, cache_paths
from devctl.local.status import find_kubectl

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devctl.local.paths import ClusterPaths
    from devctl.local.settings import ClusterSettings

JOBS = ("my-job", "training-job", "my-inference", "sample-inference", "my-inference-job")

# What devctl does otherwise, or what nobody runs on a cluster that others use, and why.
ELSEWHERE = {
    "pip install -e .": "`make cli`, with locked versions; all tests run in what it installs",
    "make cli": "what the tests run in",
    "make build": "is `make load`: it builds what is missing",
    "make load": "loads into the local cluster `devctl`; the tests do the same with theirs",
    "make install": "deploys to the local cluster `devctl`; the tests do the same with theirs",
    "sudo k3s ctr images import < operator.tar": "`devctl local load operator.tar`",
    "sudo k3s ctr images import < job.tar": "`devctl local load job.tar`",
    "python -m operator.main": "the operator runs Ansible roles, in the cluster: `make deploy`",
    "helm uninstall gpu-operator": "there is no chart: `kubectl delete -k config/local`",
}

# What only looks, at any time: its exit code, and what it says. `grep` finds nothing: `-o wide`
# shows no labels on any cluster, and the plugin here is not NVIDIA's.
LOOKS = [
    (command("kubectl cluster-info"), 0, "Kubernetes control plane.* is running at"),
    (command("kubectl get nodes"), 1, "^$"),
    (command("kubectl get pods -n gpu-operator"), 0, "No resources found"),
    (command("kubectl get storageclass"), 0, "\nlonghorn "),
    (command("kubectl describe node"), 0, "nvidia.com/gpu: +4"),
    (command("kubectl get daemonset"), 1, "^$"),
    (command("kubectl logs -l app=ephemeral"), 0, "No resources found"),
    (command("kubectl describe deployment"), 0, "No resources found"),
    (command("egpu cleanup --namespace gpu-demo"), 0, "nothing to clean up"),
    (command("make artifacts"), 0, "egpu artifacts my-inference-job --to results"),
    (command("make status"), 0, "(?m)^ *(NAMESPACE|no jobs)"),
    (command("make logs"), 0, "."),
    (f"{command('kubectl delete crd')} --dry-run=server", 0, "jobs.gpu.yourdomain.io.* deleted"),
]

CREATE = command("egpu create my-job")
CREATE_TRAINING = command("egpu create training-job")
CREATE_INFERENCE = command("egpu create my-inference")
CREATE_SAMPLE = command("egpu create sample-inference")
COPY = command("egpu copy-file my-job")
COPY_SAMPLE = command("egpu copy-file sample-inference")
WATCH = command("egpu watch my-job")
WATCH_INFERENCE = command("egpu watch my-inference")
WATCH_SAMPLE = command("egpu watch sample-inference")
GET = command("egpu get my-job")
GET_INFERENCE = command("egpu get my-inference")
GET_SAMPLE = command("egpu get sample-inference")
LIST = command("egpu list")
CLEANUP = command("egpu cleanup")
DEBUG = command("egpu debug my-job")
DEBUG_SAMPLE = command("egpu debug sample-inference")
DELETE = command("egpu delete my-job")
DELETE_SAMPLE = command("egpu delete sample-inference")
EXEC = command("kubectl exec -it debug-my-job")
EXEC_SAMPLE = command("kubectl exec -it debug-sample-inference")
INSIDE = [command("cat /mnt/output.json"), command("ls -la /mnt/")]
APPLY = command("kubectl apply")
WAIT_BOUND = command("kubectl wait")
RUN_COPY = command("kubectl run copy-pod")
RUN_DEBUG = command("kubectl run debug-pod")
WATCH_JOBS = command("kubectl get ephemeralaccelerationjobs -w")
WATCH_PODS = command("kubectl get pods -w")
DESCRIBE_SAMPLE = command("kubectl describe ephemeralaccelerationjob sample")
LOGS = command("kubectl logs -l app=gpu-job")
KUBECTL_DELETE = command("kubectl delete ephemeralaccelerationjob")
KUBECTL_DELETE_CLAIM = command("kubectl delete pvc")
TROUBLE = [
    (command("kubectl describe pod"), "Started .*Container started"),
    (command("kubectl logs ephemeral"), "waiting up to 120 s for /artifacts/input.jpg"),
    (
        command("kubectl describe ephemeralaccelerationjob <"),
        "Pvc TTLSeconds After Finished: +86400",
    ),
    (command("kubectl get pvc"), "artifacts-training-job +Bound"),
]
MAKE_EXAMPLE, MAKE_CLEAN = command("make example"), command("make clean")


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
    sample = given.blocks("yaml")[0].replace("my-inference-job", "sample-inference")
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


def test_nothing_of_the_text_is_forgotten() -> None:
    assert sha256(given.DOCUMENT.read_bytes()).hexdigest() == given.HASH
    assert given.named | {*ELSEWHERE} == {*given.commands()}
    assert not given.named & {*ELSEWHERE}
    manifest, status = given.blocks("yaml")
    assert yaml.safe_load(manifest)["metadata"]["name"] == "my-inference-job"
    assert [*yaml.safe_load(status)] == ["status"]


def test_every_target_of_make_is_there() -> None:
    lines = [line.split() for line in given.commands() if line.startswith("make ")]
    assert len(lines) == 9
    for words in lines:
        result = subprocess.run(
            [*words, "--dry-run"], cwd=REPOSITORY, capture_output=True, check=False, text=True
        )
        assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(("line", "code", "said"), LOOKS, ids=[line for line, _, _ in LOOKS])
def test_what_looks_at_a_cluster(person: Person, line: str, code: int, said: str) -> None:
    node = person.types("kubectl get nodes -o name").split()[0].removeprefix("node/")
    folder = REPOSITORY if line.startswith("make") else None
    # The tests run in what it would install.
    line = line.replace("<node-name>", node).replace("make ", "make -o .venv/installed ")
    assert re.search(said, person.types(line, code, folder))


def test_a_url_that_nobody_answers_leaves_nothing(person: Person) -> None:
    """There is no such image, whether the internet can be reached or not."""
    result = person.shell("-c", COPY.replace("my-job", "nowhere"))
    assert result.returncode in {2, 3}
    assert b"error: `example.com` cannot be found" in result.stderr or b"404" in result.stderr
    assert "nowhere" not in person.types(LIST)


@pytest.mark.usefixtures("tidy")
def test_a_job_without_its_input(person: Person) -> None:
    assert "training-job created" in person.types(CREATE_TRAINING)
    person.follows(WATCH_PODS, r"ephemeralaccelerationjob-training-job +1/1 +Running")
    for line, said in TROUBLE:
        person.finds(line.replace("<job-name>", "training-job"), said)
    assert "artifacts-training-job is kept: its job has not ended" in person.types(CLEANUP)


@pytest.mark.usefixtures("tidy")
def test_jobs_of_projects(person: Person) -> None:
    for line in (CREATE, CREATE_INFERENCE, CREATE_SAMPLE):
        assert re.search("ephemeralaccelerationjob/.* created", person.types(line))
    for line in (WATCH, WATCH_INFERENCE, WATCH_SAMPLE):
        assert "succeeded" in person.types(line)
    for line in (GET, GET_INFERENCE):
        assert re.search(r"Result: +/artifacts/output.json", person.types(line))
    assert {"my-job", "my-inference", "sample-inference"} <= {*person.types(LIST).split()}
    assert "sha256" in person.fetches(COPY)
    person.debugs(DEBUG, EXEC, INSIDE)
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
    words = re.search(r'sh -c "(.*)"$', RUN_COPY)
    assert words
    for source, target in {
        "resnet50.safetensors": "resnet50.safetensors",
        "resnet50-labels.json": "resnet50-labels.json",
        "image.jpg": "copied.jpg",
    }.items():
        line = words[1].replace(URL, f"{person.store_of_pods}/{source}")
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
    told = yaml.safe_load(given.blocks("yaml")[1])["status"]
    assert {*told} <= {*found}
    for name in ("phase", "message", "artifactPath"):
        assert found[name] == told[name]
    assert found["podName"] == told["podName"].replace("my-inference-job", "sample-inference")
    person.debugs(DEBUG_SAMPLE, EXEC_SAMPLE, INSIDE)
    person.looks_at_the_result(person.sits_at(RUN_DEBUG), INSIDE)
    assert "deleted" in person.types(KUBECTL_DELETE)
    assert "deleted" in person.types(KUBECTL_DELETE_CLAIM)


@pytest.mark.usefixtures("tidy")
def test_the_manifest_by_make(person: Person) -> None:
    make = [
        line.replace("make ", "make -o .venv/installed ") for line in (MAKE_EXAMPLE, MAKE_CLEAN)
    ]
    example = person.shell.start("-c", f"exec {make[0]}", cwd=REPOSITORY)
    wait_until(lambda: bool(person.there("eaj", "my-inference-job")), "the example is applied")
    copy = COPY.replace("my-job", "my-inference-job")
    for file in ("resnet50.safetensors", "resnet50-labels.json", "image.jpg"):
        person.fetches(copy, file, "input.jpg" if file == "image.jpg" else file)
    said, errors = example.communicate(timeout=120)
    assert b"ephemeralaccelerationjob/my-inference-job succeeded" in said, errors
    assert example.returncode == 0
    assert "my-inference-job deleted" in person.types(make[1], cwd=REPOSITORY)
