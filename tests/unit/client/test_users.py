"""Users as administrators handle them: their specs, quotas and kubeconfigs."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from cryptography import x509
from cryptography.x509.oid import NameOID

from devctl.client.settings import NAME, NAMESPACE
from devctl.client.user_access import _key_and_request, document, kubeconfig
from devctl.client.users import Use, User, Users, uses
from devctl.errors import DevctlError, NotFoundError, UsageError, WaitTimeoutError
from devctl.kube.kubeconfig import Access
from unit.client.fake_cluster import FakeApi

if TYPE_CHECKING:
    from pathlib import Path

USERS = "devserverusers"


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


@pytest.fixture
def users(api: FakeApi) -> Users:
    return Users(api.connect())


def said(reason: str, status: str = "False") -> dict[str, Any]:
    ready = {"type": "Ready", "status": status, "reason": reason, "message": reason.lower()}
    return {"conditions": [ready | {"observedGeneration": 1}]}


def stored(api: FakeApi, reason: str = "", status: str = "False") -> None:
    """A user of whom the observer says something."""
    raw = {
        "metadata": {"name": "alice", "generation": 1},
        "spec": {"username": "alice@company.com"},
        "status": said(reason, status) if reason else {},
    }
    api.add(USERS, raw)


def test_a_user_gets_a_name_made_of_the_user_name(users: Users, api: FakeApi) -> None:
    made = users.create("alice@company.com", quota={"gpus": 2}, default_flavor="small")
    assert made.name.startswith("alice-")
    assert made.space == f"dev-{made.name}"
    assert api.things[USERS, "", made.name]["spec"] == {
        "username": "alice@company.com",
        "quota": {"gpus": 2},
        "defaultFlavor": "small",
    }


def test_a_name_that_cannot_be_one_is_refused(users: Users) -> None:
    with pytest.raises(UsageError, match="cannot be a user's name"):
        users.create("alice", name="Alice")


def test_what_is_not_named_stays(users: Users, api: FakeApi) -> None:
    users.create("alice", email="alice@company.com", quota={"gpus": 2, "cpu": "4"})
    users.change("alice", quota={"gpus": 3})
    users.suspend("alice")
    spec = api.things[USERS, "", "alice"]["spec"]
    assert spec["email"] == "alice@company.com"
    assert spec["quota"] == {"gpus": 3, "cpu": "4"}
    assert spec["suspended"] is True
    assert users.resume("alice").suspended is False


def test_who_does_not_exist_is_not_found(users: Users) -> None:
    with pytest.raises(NotFoundError, match="there is no user `bob`"):
        users.get("bob")


def test_a_user_is_ready_when_the_observer_says_so_of_the_present_spec(
    users: Users, api: FakeApi
) -> None:
    stored(api, "Ready", "True")
    assert users.wait_ready("alice", 0).ready
    api.things[USERS, "", "alice"]["metadata"]["generation"] = 2
    assert not users.get("alice").ready
    with pytest.raises(WaitTimeoutError):
        users.wait_ready("alice", 0)


def test_waiting_ends_where_somebody_has_to_act(users: Users, api: FakeApi) -> None:
    stored(api, "Conflict")
    with pytest.raises(DevctlError, match="is not ready: conflict"):
        users.wait_ready("alice", 60)


@pytest.mark.parametrize(
    ("hard", "used", "free"),
    [
        ("4", "1500m", "2.5"),
        ("8Gi", "512Mi", "7.5Gi"),
        ("1Ti", "1Ti", "0Ti"),
        ("2", "3", "0"),
        ("500m", "0", "500m"),
    ],
)
def test_what_is_free_is_in_the_unit_of_the_bound(hard: str, used: str, free: str) -> None:
    assert Use("cpu", used, hard).free == free


def test_a_quota_is_shown_by_our_names_and_others_after_them() -> None:
    hard = {"pods": "5", "requests.cpu": "4", "requests.nvidia.com/gpu": "1"}
    found = uses({"status": {"hard": hard, "used": {"pods": "2"}}})
    assert [(use.what, use.used) for use in found] == [("gpus", "0"), ("cpu", "0"), ("pods", "2")]


USER = User({"metadata": {"name": "alice"}, "spec": {"username": "alice@company.com"}})


def test_a_kubeconfig_leads_to_the_users_namespace(tmp_path: Path) -> None:
    authority = tmp_path / "ca.crt"
    authority.write_bytes(b"CA")
    cluster = {
        "server": "https://cluster.example",
        "certificate-authority": str(authority),
        "insecure-skip-tls-verify": True,
    }
    found = yaml.safe_load(document(Access("", cluster=cluster), USER, {"token": "t"}))
    assert found["contexts"][0]["context"]["namespace"] == "dev-alice"
    assert found["clusters"][0]["cluster"] == {
        "server": "https://cluster.example",
        "certificate-authority-data": base64.b64encode(b"CA").decode(),
    }
    assert found["users"][0]["user"] == {"token": "t"}


# To read such a name warns, too.
@pytest.mark.filterwarnings("ignore:Attribute's length")
@pytest.mark.parametrize("username", ["alice@company.com", "ä" * 60, "oidc:" + "x" * 200])
def test_a_signing_request_names_user_and_groups(username: str) -> None:
    key, request = _key_and_request(username, ["team-a", "team-b"])
    subject = x509.load_pem_x509_csr(request).subject
    (common,) = subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    assert common.value == username
    groups = subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    assert [group.value for group in groups] == ["team-a", "team-b"]
    assert b"PRIVATE KEY" in key


def test_credentials_for_less_than_ten_minutes_are_refused(api: FakeApi) -> None:
    with pytest.raises(UsageError, match="cannot expire after 60 s"):
        kubeconfig(api.connect(), USER, "certificate", 60)


def test_users_log_in_with_the_arguments_that_the_cluster_s_settings_name(
    api: FakeApi, tmp_path: Path
) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(
        "{clusters: [{name: c, cluster: {server: 'https://c.example'}}], users: [],"
        " contexts: [{name: x, context: {cluster: c}}], current-context: x}"
    )

    def made() -> Any:
        return yaml.safe_load(kubeconfig(api.connect(), USER, "oidc", 3600, str(file)))

    with pytest.raises(UsageError, match="do not say how users log in"):
        made()
    arguments = ["--issuer=https://login.company.com", "--client-id=devctl"]
    settings = {"metadata": {"name": NAME}, "data": {"login": " ".join(arguments)}}
    api.things["configmaps", NAMESPACE, NAME] = settings
    (user,) = made()["users"]
    assert user["name"] == "alice"
    assert user["user"]["exec"]["args"] == ["credential", *arguments]
