from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from devctl.client.login.kubeconfig import exec_user
from devctl.errors import UsageError
from devctl.kube.kubeconfig import Access
from devctl.oidc.registration import Registration, from_exec
from unit.kube.certificates import make_certificates
from unit.oidc.fake_provider import CLIENT, ISSUER, REGISTRATION

if TYPE_CHECKING:
    from pathlib import Path


def test_an_exec_entry_names_the_registration(tmp_path: Path) -> None:
    authority = make_certificates(tmp_path).authority
    more: dict[str, Any] = {
        "client_secret": "not one",
        "scopes": ("groups",),
        "redirect_uri": "http://127.0.0.1:8000/",
    }
    user = exec_user(ISSUER, CLIENT, authority, **more)
    assert user["exec"]["command"] == "devctl"
    assert user["exec"]["args"][0] == "credential"
    assert user["exec"]["interactiveMode"] == "IfAvailable"
    found = Access("https://x", user=user).provider
    expected = Registration(ISSUER, CLIENT, authority.read_text(), **more)
    assert found == expected
    assert found.key == REGISTRATION.key


def test_the_shortest_entry() -> None:
    assert exec_user(ISSUER, CLIENT)["exec"]["args"] == [
        "credential",
        f"--issuer={ISSUER}",
        f"--client-id={CLIENT}",
    ]


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "kubelogin", "args": ["credential", "--issuer=https://x", "--client-id=y"]},
        {"command": "devctl", "args": ["list"]},
        {"command": "devctl", "args": ["credential", "--issuer=https://x"]},
        {"command": "devctl", "args": ["credential", "--issuer", "https://x", "--client-id=y"]},
        {"command": "devctl", "args": [*REGISTRATION.arguments(), "--new=1"]},
        {"command": "devctl", "args": REGISTRATION.arguments(), "env": [{"name": "X"}]},
        {},
    ],
)
def test_entries_that_are_run_as_programs(entry: dict[str, Any]) -> None:
    assert from_exec(entry) is None


def test_devctl_by_its_path() -> None:
    entry = {"command": "/opt/bin/devctl", "args": REGISTRATION.arguments()}
    assert from_exec(entry) == REGISTRATION


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ({"issuer": "http://x"}, "not an https:// address"),
        ({"issuer": "https://"}, "not an https:// address"),
        ({"issuer": "https://x\n"}, "not an https:// address"),
        ({"issuer": "https://[x"}, "not an https:// address"),
        ({"client_id": ""}, "no OpenID Connect client ID"),
        ({"redirect_uri": "http://evil.example:80/"}, "does not lead to a port of this machine"),
        ({"redirect_uri": "http://127.0.0.1/"}, "does not lead to a port of this machine"),
    ],
)
def test_what_is_refused(about: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        Registration(
            about.get("issuer", ISSUER),
            about.get("client_id", CLIENT),
            redirect_uri=about.get("redirect_uri", ""),
        )
    assert caught.value.fix


def test_certificates_that_cannot_be_used(tmp_path: Path) -> None:
    for content, said in (("no PEM", "contains no certificate"), ("Ä", "it is not PEM")):
        (tmp_path / "ca").write_text(content)
        with pytest.raises(UsageError, match=said):
            exec_user(ISSUER, CLIENT, tmp_path / "ca")
    with pytest.raises(UsageError, match="No such file"):
        exec_user(ISSUER, CLIENT, tmp_path / "absent")
    with pytest.raises(UsageError, match="not base64"):
        from_exec({"command": "devctl", "args": [*REGISTRATION.arguments(), "--ca-data=?"]})
