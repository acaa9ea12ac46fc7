"""Capsules in a namespace: stored once and as a whole, and kept for as long as a run names them."""

from __future__ import annotations

import base64
import doctest
import os
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

from devctl.client.checkout.capsule import LARGEST, Capsule
from devctl.client.client import Client
from devctl.client.jobs import pod_startup
from devctl.client.vllm import capsule_volume
from devctl.client.vllm.capsule_upload import put
from devctl.client.vllm.capsule_volume import claim_of, roomiest
from devctl.client.vllm.capsules import DIGEST, KEY, LABELS, SENDER, source
from devctl.client.vllm.gpus import judge
from devctl.errors import AlreadyExistsError, BusyError, DeniedError, DevctlError, NotFoundError
from unit.client.fake_cluster import USER, FakeApi
from unit.client.job_things import helpers_run, place, settings, volume
from unit.client.objects import NAMESPACE, NOW, PODS, Thing, ago
from unit.client.vllm_things import RUNS, gpu, gpu_claim, gpu_slice, vllm_run

if TYPE_CHECKING:
    from pathlib import Path

MAPS, VOLUMES = "configmaps", "persistentvolumeclaims"


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> FakeApi:
    for name in ("PATIENCE", "_POLL", "_SLOW"):
        monkeypatch.setattr(pod_startup, name, 0.01)
    return FakeApi()


@pytest.fixture
def client(api: FakeApi) -> Client:
    return Client(api.cluster())


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that a volume is here."""
    folder = tmp_path / "volume"
    folder.mkdir()
    volume(folder, monkeypatch)
    return folder


def packed(folder: Path, size: int = 1000) -> Capsule:
    data = os.urandom(size)
    digest = sha256(data).hexdigest()
    file = folder / f"{digest}.tar.gz"
    file.write_bytes(data)
    return Capsule(file, digest, size, {})


def stored(name: str, hours: int, sender: str = USER) -> Thing:
    about = {"creationTimestamp": ago(minutes=60 * hours), "annotations": {SENDER: sender}}
    return {"metadata": {"name": name, "namespace": NAMESPACE, "labels": LABELS, **about}}


def names(capsule: str, kind: str = "configMap") -> dict[str, Any]:
    return {"checkout": {"commit": "0" * 40, "capsule": {"digest": "1" * 64, kind: capsule}}}


def test_examples() -> None:
    assert doctest.testmod(capsule_volume).failed == 0


def test_a_small_one_is_sent_once(tmp_path: Path, api: FakeApi, client: Client) -> None:
    capsule = packed(tmp_path)
    assert not client.vllm_runs.capsules.has(capsule)
    for _ in range(2):
        found = client.vllm_runs.capsules.send(capsule)
        assert found == source(capsule) == {"digest": capsule.digest, "configMap": capsule.name}
    assert api.requests.count(f"POST {MAPS}") == 1
    made = api.get(MAPS, capsule.name)
    assert base64.b64decode(made["binaryData"][KEY]) == capsule.file.read_bytes()
    assert made["immutable"]
    assert made["metadata"]["annotations"] == {DIGEST: capsule.digest, SENDER: USER}
    assert made["metadata"]["labels"] == LABELS


def test_the_largest_one_fits_in_a_request(tmp_path: Path, api: FakeApi, client: Client) -> None:
    capsule = packed(tmp_path, LARGEST)
    assert capsule.small
    client.vllm_runs.capsules.send(capsule)
    assert len(api.get(MAPS, capsule.name)["binaryData"][KEY]) < 1_000_000
    assert not packed(tmp_path, LARGEST + 1).small


@pytest.mark.parametrize("held", [{}, {KEY: "no base 64"}, {KEY: "AAAA"}])
def test_what_is_not_the_capsule_is_not_taken_for_it(
    held: dict[str, str], tmp_path: Path, api: FakeApi, client: Client
) -> None:
    capsule = packed(tmp_path)
    api.add(MAPS, {"metadata": {"name": capsule.name}, "binaryData": held})
    with pytest.raises(DevctlError, match="is not the capsule that its name says") as raised:
        client.vllm_runs.capsules.send(capsule)
    assert capsule.name in raised.value.fix


def test_somebody_else_may_be_faster(
    tmp_path: Path, api: FakeApi, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    capsule = packed(tmp_path)
    cluster = client.cluster

    def taken(*_: object, **__: object) -> None:
        raise AlreadyExistsError("it exists")

    monkeypatch.setattr(cluster, "create", taken)
    monkeypatch.setattr(cluster, "whoami", lambda: USER)
    assert client.vllm_runs.capsules.send(capsule) == source(capsule)
    assert not api.names(MAPS)


def test_a_large_one_is_on_a_volume_and_noted_last(
    there: Path, tmp_path: Path, api: FakeApi, client: Client
) -> None:
    made = helpers_run(api)
    capsule = packed(tmp_path, LARGEST + 1)
    moved: list[int] = []
    capsules = client.vllm_runs.capsules
    found = capsules.send(capsule, moved.append, "gpu-1")
    assert found == {"digest": capsule.digest, "persistentVolumeClaim": capsule.name}
    assert [file.name for file in there.iterdir()] == [f"{capsule.digest}.tar.gz"]
    assert (there / f"{capsule.digest}.tar.gz").read_bytes() == capsule.file.read_bytes()
    assert sum(moved) == capsule.size
    assert made[0]["spec"]["nodeSelector"] == {"kubernetes.io/hostname": "gpu-1"}
    assert api.names(PODS) == []
    note = api.get(MAPS, capsule.name)
    assert note["data"] == {"persistentVolumeClaim": capsule.name}
    assert note["metadata"]["annotations"][DIGEST] == capsule.digest
    posts = [line for line in api.requests if line.startswith("POST")]
    assert posts[-1] == f"POST {MAPS}"
    api.requests.clear()
    assert capsules.send(capsule) == found
    assert not [line for line in api.requests if line.startswith("POST")]


def test_a_note_without_its_volume_is_not_believed(
    there: Path, tmp_path: Path, api: FakeApi, client: Client
) -> None:
    helpers_run(api)
    capsule = packed(tmp_path, LARGEST + 1)
    client.vllm_runs.capsules.send(capsule)
    api.drop(VOLUMES, capsule.name)
    (there / f"{capsule.digest}.tar.gz").unlink()
    client.vllm_runs.capsules.send(capsule)
    assert api.names(VOLUMES) == [capsule.name]
    assert len(list(there.iterdir())) == 1


def test_one_that_was_cut_off_is_completed(
    there: Path, tmp_path: Path, api: FakeApi, client: Client
) -> None:
    made = helpers_run(api)
    capsule = packed(tmp_path, LARGEST + 1)
    kept = 600_000
    (there / f".devctl-incoming.{capsule.digest}").write_bytes(capsule.file.read_bytes()[:kept])
    claim = claim_of(capsule.size, {"name": capsule.name, "labels": LABELS})
    api.add(VOLUMES, claim | {"status": {"phase": "Bound"}})
    moved: list[int] = []
    client.vllm_runs.capsules.send(capsule, moved.append, "gpu-1")
    assert sum(moved) == capsule.size - kept
    # The volume's own node is the only one that can mount it.
    assert "nodeSelector" not in made[0]["spec"]
    assert (there / f"{capsule.digest}.tar.gz").read_bytes() == capsule.file.read_bytes()


def test_what_has_arrived_before_ctrl_c_is_kept(there: Path, tmp_path: Path) -> None:
    capsule = packed(tmp_path, 3 << 20)
    moved: list[int] = []

    def interrupts(count: int) -> None:
        moved.append(count)
        if len(moved) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        put(place(), capsule.file, capsule.digest, capsule.size, interrupts)
    assert [file.name for file in there.iterdir()] == [f".devctl-incoming.{capsule.digest}"]
    rest: list[int] = []
    put(place(), capsule.file, capsule.digest, capsule.size, rest.append)
    assert sum(rest) == 1 << 20
    assert [file.name for file in there.iterdir()] == [f"{capsule.digest}.tar.gz"]
    put(place(), capsule.file, capsule.digest, capsule.size, rest.append)
    assert sum(rest) == 1 << 20


@pytest.mark.parametrize("left", [b"", b"something else", b"x" * 2000])
@pytest.mark.parametrize("named", [True, False])
def test_what_is_something_else_is_replaced(
    left: bytes, there: Path, tmp_path: Path, *, named: bool
) -> None:
    capsule = packed(tmp_path)
    name = f"{capsule.digest}.tar.gz" if named else f".devctl-incoming.{capsule.digest}"
    (there / name).write_bytes(left)
    put(place(), capsule.file, capsule.digest, capsule.size)
    assert [file.name for file in there.iterdir()] == [f"{capsule.digest}.tar.gz"]
    assert (there / f"{capsule.digest}.tar.gz").read_bytes() == capsule.file.read_bytes()


def test_what_does_not_arrive_intact_gets_no_name(there: Path, tmp_path: Path) -> None:
    capsule = packed(tmp_path)
    with pytest.raises(DevctlError, match="did not arrive intact"):
        put(place(), capsule.file, "0" * 64, capsule.size)
    assert list(there.iterdir()) == []


def test_two_do_not_write_at_the_same_time(there: Path, tmp_path: Path) -> None:
    import fcntl  # noqa: PLC0415 - POSIX only

    capsule = packed(tmp_path)
    part = there / f".devctl-incoming.{capsule.digest}"
    with part.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(DevctlError, match="somebody else is sending it"):
            put(place(), capsule.file, capsule.digest, capsule.size)
    assert part.exists()


def test_a_volume_of_a_class_that_was_set_is_for_all_nodes(api: FakeApi, client: Client) -> None:
    api.add(MAPS, settings(capsuleStorageClass="shared"))
    from devctl.client.settings import capsule_class  # noqa: PLC0415 - beside its only test

    spec = claim_of(1, {}, capsule_class(client.cluster))["spec"]
    assert (spec["storageClassName"], spec["accessModes"]) == ("shared", ["ReadWriteMany"])
    assert claim_of(1, {})["spec"]["accessModes"] == ["ReadWriteOnce"]


def test_who_may_create_no_volume_is_told_what_to_do(
    tmp_path: Path, api: FakeApi, client: Client
) -> None:
    api.refusals["POST", VOLUMES] = (403, 'cannot create resource "persistentvolumeclaims"')
    with pytest.raises(DeniedError, match="too large for a ConfigMap") as raised:
        client.vllm_runs.capsules.send(packed(tmp_path, LARGEST + 1))
    assert "devctl-job-user" in raised.value.fix
    assert api.names(MAPS) == []


def test_a_volume_that_is_going_is_waited_for(tmp_path: Path, api: FakeApi, client: Client) -> None:
    capsule = packed(tmp_path, LARGEST + 1)
    going = claim_of(1, {"name": capsule.name, "deletionTimestamp": ago(minutes=1)})
    api.add(VOLUMES, going)
    with pytest.raises(BusyError, match="is being deleted"):
        client.vllm_runs.capsules.send(capsule)


def test_old_ones_that_no_run_names_go(api: FakeApi, client: Client) -> None:
    api.add(MAPS, stored("used", 30), stored("old", 30), stored("new", 20), stored("large", 30))
    api.add(MAPS, {"metadata": {"name": "another", "creationTimestamp": ago(minutes=6000)}})
    api.add(VOLUMES, stored("large", 30), stored("mounted", 30))
    api.add(RUNS, vllm_run("a", "Failed", spec=names("used")), vllm_run("b"))
    api.add(RUNS, vllm_run("c", spec=names("mounted", "persistentVolumeClaim")))
    assert client.vllm_runs.capsules.prune(NOW, but="old") == ["large"]
    assert client.vllm_runs.capsules.prune(NOW) == ["old"]
    assert sorted(api.names(MAPS)) == ["another", "new", "used"]
    assert api.names(VOLUMES) == ["mounted"]


def test_nothing_more_is_asked_without_old_ones(api: FakeApi, client: Client) -> None:
    api.add(MAPS, stored("new", 1))
    assert client.vllm_runs.capsules.prune(NOW) == []
    assert api.requests == [f"GET {MAPS}", f"GET {VOLUMES}"]


def test_ones_own_go_at_once_unless_a_run_names_them(api: FakeApi, client: Client) -> None:
    api.add(MAPS, stored("mine", 0), stored("used", 0), stored("bobs", 0, "bob"), stored("ends", 0))
    going = vllm_run("gone", spec=names("ends"))
    going["metadata"]["deletionTimestamp"] = ago(minutes=0)
    # A run of anybody's.
    api.add(RUNS, vllm_run("theirs", spec=names("used") | {"owner": "bob"}), going)
    assert client.vllm_runs.capsules.delete_own() == ["ends", "mine"]
    assert sorted(api.names(MAPS)) == ["bobs", "used"]


def test_who_may_not_see_them_deletes_none(api: FakeApi, client: Client) -> None:
    api.refusals["GET", MAPS] = api.refusals["GET", VOLUMES] = (403, "forbidden")
    assert client.vllm_runs.capsules.delete_own() == []
    assert client.vllm_runs.capsules.prune(NOW) == []


@pytest.mark.parametrize("kind", ["configMap", "persistentVolumeClaim"])
def test_a_replay_is_the_same_with_the_same_capsule(
    kind: str, api: FakeApi, client: Client
) -> None:
    run = vllm_run("my-demo", "Failed", spec=names("capsule-1", kind) | {"gpus": 2})
    run["metadata"]["annotations"] = {"checkout.devctl/changes": "1 added", "other": "x"}
    api.add(RUNS, run)
    with pytest.raises(NotFoundError, match="the capsule of `my-demo` is gone") as raised:
        client.vllm_runs.replay("my-demo", "again")
    assert "`k8shazgpu vllm run`" in raised.value.fix
    assert api.names(RUNS) == ["my-demo"]
    api.add(MAPS if kind == "configMap" else VOLUMES, stored("capsule-1", 30))
    made = client.vllm_runs.replay("my-demo", "again")
    # It belongs to whoever replays it.
    assert made.spec == {key: value for key, value in run["spec"].items() if key != "owner"}
    assert made.raw["metadata"]["annotations"] == {"checkout.devctl/changes": "1 added"}
    assert made.status == {}


def test_a_run_without_a_checkout_is_replayed_too(api: FakeApi, client: Client) -> None:
    api.add(RUNS, vllm_run("my-demo"))
    assert (
        client.vllm_runs.replay("my-demo", "again").command
        == client.vllm_runs.get("my-demo").command
    )
    with pytest.raises(AlreadyExistsError):
        client.vllm_runs.replay("my-demo", "again")


def test_a_volume_is_made_where_the_run_is_likely_to_be() -> None:
    slices = [gpu_slice("a", gpu(0), gpu(1)), gpu_slice("b", gpu(0), gpu(1), gpu(2))]
    claims = [gpu_claim("x", ("b", "gpu-0")), gpu_claim("y", ("b", "gpu-1"))]
    gpus = judge(slices, claims, hidden=False)
    assert roomiest(gpus, 1) == "a"
    assert roomiest(gpus, 3) == "b"
    assert roomiest(gpus, 1, [2]) == "b"
    assert roomiest(gpus, 4) == ""
