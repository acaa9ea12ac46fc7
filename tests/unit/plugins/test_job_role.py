"""The complete role with its real task and variables, against an in-memory API server."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.playbook.task import Task
from ansible.plugins import loader
from ansible.template import Templar, trust_as_template
from unit.plugins.fake_api import FakeApi, failure
from unit.plugins.jobs import FINISHED, Thing, claim, expired, job, pod

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROLE = REPOSITORY / "roles/ephemeral_acceleration_job"
JOB = "/apis/gpu.yourdomain.io/v1alpha1/namespaces/team/ephemeralaccelerationjobs/scan"
CLAIMS = "/api/v1/namespaces/team/persistentvolumeclaims"
CLAIM = f"{CLAIMS}/artifacts-scan"
PODS = "/api/v1/namespaces/team/pods"
POD = f"{PODS}/ephemeralaccelerationjob-scan"
Run = dict[str, Any]


@pytest.fixture(scope="module")
def _plugins() -> None:
    if not loader.AnsibleCollectionConfig.collection_finder:
        loader.init_plugin_loader()
    loader.action_loader.add_directory(str(REPOSITORY / "plugins/action"))


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


def trusted(value: Any) -> Any:
    """The content of a role's file, tagged by Ansible's own loader."""
    if isinstance(value, dict):
        return {name: trusted(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [trusted(inner) for inner in value]
    return trust_as_template(value) if isinstance(value, str) else value


@pytest.fixture
def answer(_plugins: None, api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> Callable[[Thing], Run]:
    """Runs the role's task for a job, like the operator."""

    @contextmanager
    def connect() -> Iterator[Any]:
        yield api.client()

    plugin: Any = loader.action_loader.get("apply", class_only=True)
    monkeypatch.setattr(sys.modules[plugin.__module__], "connect", connect)
    (task,) = yaml.safe_load((ROLE / "tasks/main.yml").read_text())

    def run(wanted: Thing) -> Run:
        api.requests.clear()
        # Each field of a spec is a variable, too, and must not be mistaken for the role's.
        known = wanted["spec"] | {
            "ansible_operator_meta": {"name": "scan", "namespace": "team"},
            "_gpu_yourdomain_io_ephemeralaccelerationjob": wanted,
            "_gpu_yourdomain_io_ephemeralaccelerationjob_spec": wanted["spec"],
        }
        files = DataLoader()
        files.set_basedir(str(ROLE))
        templar = Templar(loader=files, variables=known)
        arguments = templar.template(trusted(task["apply"]))
        loaded = Task.load({"name": task["name"], "apply": arguments})
        connection = SimpleNamespace(_shell=SimpleNamespace(tmpdir=None))
        action = plugin(loaded, connection, None, files, templar, loader)
        return dict(action.run(task_vars=known))

    return run


def stored(api: FakeApi, wanted: Thing) -> Thing:
    """A job that is also stored in the API server."""
    api.objects[JOB] = wanted
    return wanted


def applied(api: FakeApi) -> tuple[str, str]:
    """Status and reason of the role's condition."""
    (found,) = (c for c in api.objects[JOB]["status"]["conditions"] if c["type"] == "Applied")
    return found["status"], found["reason"]


def writes(api: FakeApi) -> list[str]:
    return [request for request in api.requests if not request.startswith("GET")]


def test_a_new_job_is_given_what_it_needs_once(
    api: FakeApi, answer: Callable[[Thing], Run]
) -> None:
    result = answer(stored(api, job()))

    assert "failed" not in result, result
    assert writes(api) == [f"PATCH {CLAIM}", f"PATCH {POD}", f"PATCH {JOB}/status"]
    assert "ownerReferences" not in api.objects[CLAIM]["metadata"]
    (owner,) = api.objects[POD]["metadata"]["ownerReferences"]
    assert (owner["uid"], owner["controller"]) == ("u1", True)
    assert api.objects[POD]["metadata"]["labels"] == {
        "app": "gpu-job",
        "app.kubernetes.io/managed-by": "devctl",
        "gpu.yourdomain.io/job": "scan",
    }

    again = answer(job())

    assert not again["changed"]
    assert f"PATCH {POD}" not in api.requests


def test_each_neighbour_is_read_once_and_by_its_labels(
    api: FakeApi, answer: Callable[[Thing], Run]
) -> None:
    api.put(POD, pod())
    api.put(CLAIM, claim())

    answer(stored(api, job()))

    # The claim is also read by name, since it is applied.
    assert [r for r in api.requests if r.startswith("GET")] == [
        f"GET {PODS}",
        f"GET {CLAIMS}",
        f"GET {CLAIM}",
    ]


def test_flavors_and_teams_are_read_for_a_job_in_a_queue_only(
    api: FakeApi, answer: Callable[[Thing], Run]
) -> None:
    large = {"requests": {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": 1}}
    flavor = {"metadata": {"name": "large"}, "spec": {"resources": large}}
    quota = [{"name": "large", "pods": 1}]
    team = {"metadata": {"name": "vision"}, "spec": {"flavors": quota}}
    kinds = "/apis/devops.yourcompany.com/v1"
    api.objects[f"{kinds}/devserverflavors"] = {"items": [flavor]}
    api.objects[f"{kinds}/devserverteams"] = {"items": [team]}

    result = answer(stored(api, job(flavor="large", team="vision")))

    assert "failed" not in result, result
    read = [request for request in api.requests if request.startswith(f"GET {kinds}")]
    assert read == [f"GET {kinds}/devserverflavors", f"GET {kinds}/devserverteams"]
    labels = api.objects[POD]["metadata"]["labels"]
    assert labels["kueue.x-k8s.io/queue-name"] == "devctl-large"

    answer(job(flavor="large"))

    assert not [request for request in api.requests if request.startswith(f"GET {kinds}")]


def test_an_expired_pod_is_removed_and_the_claim_says_since_when(
    api: FakeApi, answer: Callable[[Thing], Run]
) -> None:
    api.put(POD, pod({"phase": "Succeeded"}))
    api.put(CLAIM, claim())

    result = answer(stored(api, job(expired("PodExpired"))))

    assert [thing["kind"] for thing in result["pruned"]] == ["Pod"]
    assert POD not in api.objects
    annotations = api.objects[CLAIM]["metadata"]["annotations"]
    assert annotations["gpu.yourdomain.io/finished-at"] == "t2"


def test_a_pod_that_has_changed_meanwhile_is_left(
    api: FakeApi, answer: Callable[[Thing], Run]
) -> None:
    api.put(POD, pod())
    api.put(CLAIM, claim())

    def start(api: FakeApi) -> None:
        api.put(POD, pod({"phase": "Running"}))

    # The lookups and the apply read it; then it starts.
    api.faults = [None, None, None, start]
    result = answer(stored(api, job(image="other")))

    assert (result["reason"], result["retryable"]) == ("Unavailable", True)
    assert "has changed meanwhile" in result["msg"]
    assert POD in api.objects
    assert applied(api) == ("False", "Unavailable")


def test_a_mistake_is_mended_in_two_runs(api: FakeApi, answer: Callable[[Thing], Run]) -> None:
    answer(stored(api, job(image="imgae")))
    mended = job()

    assert answer(mended)["pruned"]
    assert POD not in api.objects
    answer(mended)

    (container,) = api.objects[POD]["spec"]["containers"]
    assert container["image"] == "gpu-job-inference:latest"


def test_a_foreign_claim_is_a_conflict_and_gets_no_pod(
    api: FakeApi, answer: Callable[[Thing], Run]
) -> None:
    theirs = api.put(CLAIM, claim(labels={"app": "theirs"}))

    result = answer(stored(api, job()))

    assert (result["reason"], result["retryable"]) == ("Conflict", False)
    assert "PersistentVolumeClaim team/artifacts-scan exists" in result["msg"]
    assert api.objects.keys() == {JOB, CLAIM}
    assert applied(api) == ("False", "Conflict")
    assert api.objects[CLAIM] == theirs


def test_a_foreign_pod_is_a_conflict(api: FakeApi, answer: Callable[[Thing], Run]) -> None:
    theirs = api.put(POD, pod(labels={}, ownerReferences=[]))

    assert answer(stored(api, job()))["reason"] == "Conflict"
    assert api.objects[POD] == theirs
    assert CLAIM not in api.objects


def test_the_pod_of_an_earlier_job_is_waited_for(
    api: FakeApi, answer: Callable[[Thing], Run]
) -> None:
    before = api.put(POD, pod({"phase": "Running"}, uid="u0"))

    result = answer(stored(api, job()))

    assert (result["reason"], result["retryable"]) == ("Terminating", True)
    assert api.objects[POD] == before


def test_a_claim_that_goes_takes_the_waiting_pod_with_it(
    api: FakeApi, answer: Callable[[Thing], Run]
) -> None:
    """The pod keeps the claim alive: otherwise, neither would ever be gone."""
    api.put(POD, pod())
    api.put(CLAIM, claim(deletionTimestamp="now"))

    result = answer(stored(api, job()))

    assert (result["reason"], result["retryable"]) == ("Terminating", True)
    assert POD not in api.objects
    del api.objects[CLAIM]
    assert "failed" not in answer(job())
    assert {POD, CLAIM} <= api.objects.keys()


def test_a_claim_that_is_lost_while_the_run_reads_is_not_made_again(
    api: FakeApi, answer: Callable[[Thing], Run]
) -> None:
    api.put(CLAIM, claim())

    def expire(api: FakeApi) -> None:
        del api.objects[CLAIM]

    # Between the lookup and the read, and between the read and the apply.
    for faults in ([None, None, expire], [None, None, None, expire]):
        api.put(CLAIM, claim())
        api.faults = list(faults)
        result = answer(stored(api, job(FINISHED)))
        assert "failed" not in result, result
        assert CLAIM not in api.objects


def test_jinja_in_a_spec_stays_text(api: FakeApi, answer: Callable[[Thing], Run]) -> None:
    text = "{{ lookup('pipe', 'id') }}"

    answer(stored(api, job(image=text, command=[text])))

    (container,) = api.objects[POD]["spec"]["containers"]
    assert (container["image"], container["command"]) == (text, [text])


def test_a_field_of_the_spec_is_none_of_the_roles_variables(
    api: FakeApi, answer: Callable[[Thing], Run]
) -> None:
    answer(stored(api, job(namespace="other", identity={}, templates=[], owner="eve")))

    assert {POD, CLAIM} <= api.objects.keys()


@pytest.mark.parametrize("kind", ["Pod", "PersistentVolumeClaim"])
def test_what_cannot_be_read_fails_before_anything_is_written(
    api: FakeApi, answer: Callable[[Thing], Run], kind: str
) -> None:
    api.faults = [None] * (kind != "Pod") + [failure(403, "cannot list")]

    result = answer(stored(api, job()))

    assert result["reason"] == "Forbidden"
    assert applied(api) == ("False", "Forbidden")
    assert writes(api) == [f"PATCH {JOB}/status"]
