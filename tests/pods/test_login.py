"""People log in at a real provider, with devctl and with kubectl, until the provider says no."""

from __future__ import annotations

import json
import re
import ssl
import threading
from base64 import b64decode
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import uuid4

import httpx2
import pytest
from support.command_line import CommandLine
from support.person import Person
from support.servers import SMALL, apply_flavor, wait_until
from support.tiers.prepare import PARTS

from devctl.kube.kubeconfig import find_access
from devctl.oidc import session
from devctl.oidc.provider import Provider

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Kubectl

    from devctl.local.images import Image
    from devctl.local.paths import ClusterPaths
    from devctl.oidc.registration import Registration

ALICE, GROUP = "oidc:alice@example.com", "oidc:ml"
REFUSED = 5
LIFE = 90
"""Seconds after which an ID token of the provider has expired for certain."""


@pytest.fixture(scope="module")
def handed_out(paths: ClusterPaths) -> Path:
    """The kubeconfig that people get from their administrator."""
    assert "oidc" in PARTS
    return paths.parts / "oidc" / "kubeconfig"


@pytest.fixture(scope="module")
def registration(handed_out: Path) -> Registration:
    found = find_access(str(handed_out)).provider
    assert found
    return found


@pytest.fixture(scope="module")
def alice(
    kubectl: Kubectl,
    deployed: None,  # noqa: ARG001 - it comes first
    handed_out: Path,
    images: dict[str, Image],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[CommandLine]:
    """The shell of somebody whose group may use a namespace."""
    namespace, home = f"login-{uuid4().hex[:6]}", tmp_path_factory.mktemp("alice")
    kubectl("create", "namespace", namespace)
    apply_flavor(kubectl, namespace, resources=SMALL)
    role = ("--clusterrole=devctl-user", f"--group={GROUP}")
    kubectl("-n", namespace, "create", "rolebinding", "ml", *role)
    yield CommandLine(handed_out, namespace, home, {"DEVCTL_IMAGE": images["base"].reference})
    kubectl("-n", namespace, "delete", "devserver", "--all")
    kubectl("delete", "devserverflavor", namespace)
    kubectl("delete", "namespace", namespace, "--wait=false")


@pytest.fixture(autouse=True)
def state(alice: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """This process sees the tokens in Alice's home."""
    monkeypatch.setenv("XDG_STATE_HOME", str(alice.home / ".local" / "state"))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")


def log_in(alice: CommandLine, registration: Registration) -> str:
    """Log in by device code, with a browser elsewhere; what devctl says."""
    process = alice.start("login", "--device")
    assert process.stderr
    said = ""
    while not (found := re.search(r"^or open (\S+)$", said, re.MULTILINE)):
        line = process.stderr.readline().decode()
        assert line, said
        said += line
    with Person(registration.authority, "alice@example.com", "alice") as person:
        assert "Success" in person.visit(found[1])
    rest = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 0, rest
    return said + rest


def token_claims(token: str) -> dict[str, object]:
    """The claims of an ID token, unverified."""
    body = token.split(".")[1]
    found: dict[str, object] = json.loads(b64decode(body + "=" * (-len(body) % 4), b"-_"))
    return found


def test_a_person_from_login_to_the_end_of_the_session(
    alice: CommandLine, registration: Registration, kubectl: Kubectl
) -> None:
    nobody = f"error: you are not logged in at {registration.issuer}: run `devctl login`\n"
    assert alice.fails(REFUSED, "list") == nobody

    assert f"logged in at {registration.issuer} as alice@example.com" in log_in(alice, registration)
    # The API server may not yet have read which providers it trusts.
    wait_until(lambda: alice("whoami").returncode == 0, "the API server accepts the login", 90)
    review = json.loads(alice.must("whoami", "-o", "json"))["status"]["userInfo"]
    assert review["username"] == ALICE
    assert {GROUP, "system:authenticated"} <= set(review["groups"])
    assert review["uid"] == "1001"

    options = ("--flavor", alice.namespace, "--home-size", "10Mi", "--wait", "--timeout", "2m")
    alice.must("create", "mine", *options, timeout=150)
    server = kubectl.api.get("devserver", "mine", alice.namespace)
    assert server
    assert server["spec"]["owner"] == ALICE
    assert alice.must("exec", "mine", "--", "echo", "hello") == "hello\n"

    program = replace(alice, program=kubectl.program)
    named = ("-n", alice.namespace, "get", "devservers", "-o", "name")
    assert program.must(*named) == "devserver.devops.yourcompany.com/mine\n"
    assert "cannot list resource" in program.fails(1, "get", "nodes")

    # Tokens live for a minute: this one is refreshed by whoever needs it next.
    first = session.current(registration)
    wait_until(lambda: not session._is_fresh(first), "it is old", LIFE)  # noqa: SLF001
    running = [alice.start("list", "-o", "name") for _ in range(4)]
    assert [each.wait(timeout=60) for each in running] == [0] * 4
    second = session.current(registration)
    assert second.refresh_token != first.refresh_token
    assert token_claims(second.id_token)["sub"] == "1001"

    revoke(registration, second.refresh_token)
    said: list[str] = []

    def has_ended() -> bool:
        result = alice("list")
        said.append(result.stderr.decode())
        return result.returncode == REFUSED

    wait_until(has_ended, "the session has ended", LIFE)
    host = registration.issuer.removeprefix("https://")
    ended = f"error: your login at {host} has ended (invalid_grant): run `devctl login`\n"
    assert said[-1] == ended
    assert alice.fails(REFUSED, "list") == nobody
    assert nobody.strip() in program.fails(1, *named).splitlines()

    log_in(alice, registration)
    assert alice.must("list", "-o", "name") == "devserver/mine\n"
    alice.must("logout")
    assert alice.fails(REFUSED, "list") == nobody


def revoke(registration: Registration, token: str) -> None:
    """End a session at the provider, as its administrator or the person can."""
    with Provider(registration) as provider:
        form = f"token={token}&client_id={registration.client_id}"
        assert provider.post(provider.endpoint("revocation_endpoint"), form).is_success


def test_in_a_browser_on_this_machine(alice: CommandLine, registration: Registration) -> None:
    done: list[str] = []

    def visit(address: str) -> None:
        def go() -> None:
            with Person(registration.authority, "alice@example.com", "alice") as person:
                done.append(person.visit(address))

        threading.Thread(target=go).start()

    found, _ = session.log_in(registration, visit=visit)
    assert found.name == "alice@example.com"
    wait_until(lambda: bool(done), "the browser has an answer")
    assert "return to the terminal" in done[0]
    assert alice.must("whoami").splitlines()[0].split() == ["User:", ALICE]


def test_a_provider_that_is_down_keeps_nobody_out_who_is_in(
    alice: CommandLine, registration: Registration, kubectl: Kubectl
) -> None:
    log_in(alice, registration)
    where = ("-n", "devctl-oidc")
    kubectl(*where, "scale", "deployment/oidc-provider", "--replicas=0")
    try:
        kubectl(*where, "wait", "--for=delete", "pod", "--all", "--timeout=60s")
        alice.must("list")
        said = alice.fails(1, "login", "--device")
        assert said.startswith(f"error: {registration.issuer} cannot be reached: ")
        alice.must("list")
    finally:
        kubectl(*where, "scale", "deployment/oidc-provider", "--replicas=1")
        kubectl(*where, "rollout", "status", "deployment/oidc-provider", "--timeout=60s")
    log_in(alice, registration)
    alice.must("logout")


def test_a_wrong_password(registration: Registration) -> None:
    with pytest.raises(AssertionError, match="the password is wrong"):
        session.log_in(
            registration,
            visit=lambda address: visit_with_wrong_password(registration, address),
        )


def visit_with_wrong_password(registration: Registration, address: str) -> None:
    with Person(registration.authority, "alice@example.com", "guess") as person:
        person.visit(address)


def test_a_token_for_nobody_is_refused(registration: Registration, handed_out: Path) -> None:
    access = find_access(str(handed_out))
    authority = b64decode(access.cluster["certificate-authority-data"]).decode()
    address = f"{access.server}/api/v1/namespaces"
    bearer = {"Authorization": "Bearer eyJhbGciOiJub25lIn0.e30."}
    assert registration
    with httpx2.Client(verify=trusting(authority), trust_env=False) as client:
        assert client.get(address, headers=bearer).status_code == 401


def trusting(authority: str) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=authority)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context
