"""What a real API server refuses of jobs, and why; what it fills in, and what stays as it was."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
import yaml
from support import job_interface
from support.asked import Request, create
from support.jobs import WAITS, Job
from support.servers import wait_until
from support.tenants import ADMINISTRATOR, Tenants, job

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl

    from devctl.local.images import Image

pytestmark = pytest.mark.usefixtures("deployed")

Spec = dict[str, Any]
OUTSIDE = "a path is below /artifacts, where the volume is, without `..` and control characters"
IN_THE_WAY = "the result would overwrite an input of the job: choose another path"
CPU = "cpu is from `1m` to 1024, for example `500m` or 2"
MEMORY = "memory is from 8Mi to 64Ti; write it with a unit, for example `1Gi`"
SIZE = "a volume has 1Mi to 1Pi; write its size with a unit, for example `1Gi`"
A = "/artifacts"
YEAR = 31536000

# For each field, values that it cannot have and what is said of them.
WRONG: list[tuple[str, list[Any], str]] = [
    ("model", ["resnet18", "ResNet50", ""], 'supported values: "resnet50", "mobilenet_v3_small"'),
    ("model", [50, ["resnet50"]], "must be of type string"),
    ("input.type", ["video"], 'supported values: "image"'),
    ("input.path", ["input.jpg", "/etc/passwd", A, f"{A}/", f"{A}s/x"], OUTSIDE),
    ("input.path", [f"{A}/../x", f"{A}/..", f"{A}/./x", f"{A}//x", f"{A}/x/"], OUTSIDE),
    ("input.path", [f"{A}/a\nb", f"{A}/\x1b[2J", f"{A}/\x7f"], OUTSIDE),
    ("input.path", [f"{A}/{'x' * 1014}"], "Too long: may not be more than 1024"),
    ("input.waitSeconds", [-1], "should be greater than or equal to 0"),
    ("input.waitSeconds", [3601], "should be less than or equal to 3600"),
    ("input.waitSeconds", ["120"], "must be of type integer"),
    ("input.waitSeconds", [1.5], "must be of type int32"),
    ("output.path", ["output.json", f"{A}/../output.json"], OUTSIDE),
    ("output.path", [f"{A}/input.jpg"], IN_THE_WAY),
    ("weights.path", [None], "Required value"),
    ("weights.path", ["/opt/devctl/weights/resnet50.safetensors"], OUTSIDE),
    ("resources.gpu", [-1], "should be greater than or equal to 0"),
    ("resources.gpu", [65], "should be less than or equal to 64"),
    ("resources.gpu", ["1"], "must be of type integer"),
    ("resources.cpu", [0, "0.5m", 1025, "-1", "1e3", "1e99999999", "x", ""], CPU),
    ("resources.memory", [100, "7Mi", "65Ti", "1m", "1e99999999", "-1Gi"], MEMORY),
    ("ttlSecondsAfterFinished", [-1], "should be greater than or equal to 0"),
    ("ttlSecondsAfterFinished", [YEAR + 1], "should be less than or equal to"),
    ("pvcTTLSecondsAfterFinished", [-1], "should be greater than or equal to 0"),
    ("pvcTTLSecondsAfterFinished", ["1h"], "must be of type integer"),
    ("storageClass", [""], "should be at least 1 chars long"),
    ("storageClass", ["Fast_One", "a/b", "-a"], "should match"),
    ("pvcSize", [0, 100, "1023Ki", "2Pi", "1e12", "1e99999999", "-1Gi", "5x", ""], SIZE),
    ("image", [""], "should be at least 1 chars long"),
    ("image", ["a b", "-x", "a\nprivileged: true"], "should match"),
    ("image", ["a" * 513], "Too long: may not be more than 512"),
    ("command", [[]], "should have at least 1 items"),
    ("command", [["x"] * 65], "must have at most 64 items"),
    ("command[0]", [["a\0b"], ["\x1b[2J"]], "should match"),
    ("command", ["echo hello"], "must be of type array"),
    ("activeDeadlineSeconds", [0], "should be greater than or equal to 1"),
    ("suspend", ["yes"], "must be of type boolean"),
]

# What no single field is to blame for.
WRONG_TOGETHER: list[tuple[Spec, str, str]] = [
    ({"weights": {"path": f"{A}/w", "labelsPath": "l.json"}}, "weights.labelsPath", OUTSIDE),
    ({"weights": {"path": f"{A}/w.bin"}}, "weights.labelsPath", "need a labelsPath"),
    (
        {"weights": {"path": f"{A}/w.safetensors"}, "output": {"path": f"{A}/w.safetensors"}},
        "output.path",
        IN_THE_WAY,
    ),
    (
        {
            "weights": {"path": f"{A}/w.safetensors", "labelsPath": f"{A}/l.json"},
            "output": {"path": f"{A}/l.json"},
        },
        "output.path",
        IN_THE_WAY,
    ),
]

RIGHT: list[Spec] = [
    {},
    {"model": "mobilenet_v3_small"},
    {"input": {"path": f"{A}/..a/.b/$(x); rm -rf ü"}},
    {"input": {"path": f"{A}/{'x' * 1013}", "waitSeconds": 0}},
    {"input": {"waitSeconds": 3600}},
    {"weights": {"path": f"{A}/w.bin", "labelsPath": f"{A}/l.json"}},
    {"weights": {"path": f"{A}/w.safetensors"}},
    {"resources": {"gpu": 0, "cpu": "1m", "memory": "8Mi"}},
    {"resources": {"gpu": 64, "cpu": 1024, "memory": "64Ti"}},
    {"resources": {"cpu": 2, "memory": 1073741824}, "pvcSize": 1073741824},
    {"resources": {"cpu": "1.5", "memory": "1.5G"}, "pvcSize": "1.5Ti"},
    {"ttlSecondsAfterFinished": 0, "pvcTTLSecondsAfterFinished": 0},
    {"ttlSecondsAfterFinished": YEAR, "pvcTTLSecondsAfterFinished": YEAR},
    {"pvcSize": "1Mi", "storageClass": "a.b-c"},
    {"pvcSize": "1Pi"},
    {"image": "registry.example.com:5000/a/b:c@sha256:0"},
    {"command": ["x"] * 64, "activeDeadlineSeconds": 1},
    {"command": ["a\tb\r\nc", ""], "activeDeadlineSeconds": YEAR},
]


def spec_of(field: str, value: Any) -> Spec:
    """A spec in which one field has a value; without it where that is None."""
    name, _, rest = field.partition("[")[0].partition(".")
    if rest:
        return {name: spec_of(rest, value)}
    return {} if value is None else {name: value}


CASES = [
    *((spec_of(field, value), field, said) for field, values, said in WRONG for value in values),
    *WRONG_TOGETHER,
]


@pytest.mark.parametrize(
    ("spec", "field", "said"),
    [pytest.param(*case, id=f"{case[1]}={json.dumps(case[0])[:60]}") for case in CASES],
)
def test_a_wrong_job_is_refused_by_the_name_of_its_field(
    kubectl: Kubectl, spec: Spec, field: str, said: str
) -> None:
    users = Tenants(kubectl, "default")
    refusal = users.denied(ADMINISTRATOR, create(job("wrong", **spec), dry=True, strict=False))
    assert '"wrong" is invalid: ' in refusal
    assert f"spec.{field}: " in refusal
    assert said in refusal


@pytest.mark.parametrize("name", ["a.b", "a" * 64, "9" * 64])
def test_a_name_that_is_no_label_is_refused(kubectl: Kubectl, name: str) -> None:
    said = Tenants(kubectl, "default").refused(ADMINISTRATOR, job(name))
    assert "metadata.name must have at most 63 lower-case letters, digits and '-'" in said


def test_a_field_that_there_is_not_is_refused(kubectl: Kubectl) -> None:
    unknown = {"hostNetwork": True, "resources": {"gpus": 1}, "ttlSecondsAfterfinished": 1}
    said = Tenants(kubectl, "default").refused(ADMINISTRATOR, job(**unknown))
    for field in ("hostNetwork", "resources.gpus", "ttlSecondsAfterfinished"):
        assert f'unknown field "spec.{field}"' in said


def test_right_jobs_are_accepted(kubectl: Kubectl) -> None:
    jobs = [job(f"right-{number}", **spec) for number, spec in enumerate(RIGHT)]
    jobs += [job("a" * 63), job("0")]
    for each in jobs:
        Tenants(kubectl, "default").create(ADMINISTRATOR, each)


def test_the_sample_is_as_people_know_it() -> None:
    text = (REPOSITORY / "config/samples/ephemeralaccelerationjob.yaml").read_text()
    assert yaml.safe_load(text) == job_interface.manifest()


def test_what_is_left_out_is_as_people_know_it(kubectl: Kubectl) -> None:
    """Bare, a job has what people take for the defaults."""
    manifest = job_interface.manifest()
    bare = {**manifest, "metadata": {"name": "bare"}}
    del bare["spec"]
    users = Tenants(kubectl, "default")
    first, second = (users.create(ADMINISTRATOR, each)["spec"] for each in (manifest, bare))
    more = {"cpu": "500m", "memory": "1Gi"}
    told: Spec = manifest["spec"]
    whole = {
        **told,
        "input": {**told["input"], "waitSeconds": 120},
        "resources": {**told["resources"], **more},
        "suspend": False,
        "owner": kubectl("auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"),
    }
    assert first == whole
    # Not every cluster has Longhorn.
    assert second == {name: value for name, value in whole.items() if name != "storageClass"}


@pytest.fixture(scope="module")
def running(kubectl: Kubectl, images: dict[str, Image]) -> Iterator[Job]:
    """A job whose program runs."""
    namespace = f"job-kinds-{uuid4().hex[:6]}"
    kubectl("create", "namespace", namespace)
    made = Job(kubectl, namespace, images["base"].reference)
    made.apply(command=WAITS)
    made.wait("Running", seconds=180)
    # Nobody writes to it any more: `replace` gives up where somebody was faster.
    made.wait_applied()
    yield made
    kubectl("-n", namespace, "delete", "eaj,pod", "--all", "--grace-period=1")
    kubectl("delete", "namespace", namespace, "--wait=false")


CHANGES: list[Spec] = [
    {"model": "mobilenet_v3_small"},
    {"input": {"path": f"{A}/other.jpg"}},
    {"input": {"waitSeconds": 1}},
    {"output": {"path": f"{A}/other.json"}},
    {"weights": {"path": f"{A}/w.safetensors"}},
    {"resources": {"gpu": 1}},
    {"resources": {"gpu": 0, "memory": "64Mi"}},
    {"storageClass": "other"},
    {"pvcSize": "20Mi"},
    {"image": "other:1"},
    {"command": ["true"]},
    {"activeDeadlineSeconds": 600},
]


def test_a_job_that_has_started_keeps_its_spec(kubectl: Kubectl, running: Job) -> None:
    manifest = running.manifest()
    changed = [{**manifest["spec"], **change} for change in CHANGES]
    changed.append({name: value for name, value in manifest["spec"].items() if name != "command"})
    users = Tenants(kubectl, running.namespace)

    def having(spec: Spec) -> Request:
        return users.replacement({**manifest, "spec": spec}, dry=True)

    for spec in changed:
        said = users.denied(ADMINISTRATOR, having(spec))
        assert "the spec of a started job cannot change, except ttlSeconds" in said, spec
    said = users.denied(ADMINISTRATOR, having({**manifest["spec"], "suspend": True}))
    assert "spec.suspend: Invalid value: " in said
    assert "a job can be suspended only at its creation: delete it" in said


def test_a_job_that_has_started_may_stay_longer(kubectl: Kubectl, running: Job) -> None:
    manifest = running.manifest()
    times = {"ttlSecondsAfterFinished": 5, "pvcTTLSecondsAfterFinished": 6}
    changed = {**manifest, "spec": {**manifest["spec"], **times}}
    users = Tenants(kubectl, running.namespace)
    now = users.send(ADMINISTRATOR, users.replacement(changed, dry=True))
    assert now["spec"].items() >= times.items()


def test_a_job_that_waits_may_become_another_one(kubectl: Kubectl, running: Job) -> None:
    users = Tenants(kubectl, running.namespace)
    users.create(ADMINISTRATOR, job("waiting"), keep=True)
    # Nobody writes to it any more, see `running`.
    waiting = Job(kubectl, running.namespace, running.image, "waiting")
    waiting.wait("Pending", "Suspended")
    wait_until(lambda: waiting.condition("Applied").get("status") == "True", "it has its volume")
    changes = [{"suspend": True, **change} for change in CHANGES]
    for change in changes:
        users.send(ADMINISTRATOR, users.replacement(job("waiting", **change), dry=True))
    users.run(ADMINISTRATOR, "delete", "eaj", "waiting")
