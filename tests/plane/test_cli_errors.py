"""What goes wrong is two lines, what happened and what to do, and an exit code."""

from __future__ import annotations

import base64
import json
import subprocess
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import NameOID
from support.user_place import account_kubeconfig

if TYPE_CHECKING:
    from pathlib import Path

    from support.commands import Kubectl
    from support.plane.plane import Plane
    from support.user_place import UserPlace

TAKEN = "taken"
WAY_IN = "log in to the cluster again, or get a new kubeconfig"
CHECK = "check the address in the kubeconfig, the network and the VPN; see `devctl doctor`"
OTHER = "name another one with --kubeconfig"
RIGHT = "ask an administrator for that right, or name another namespace with -n"


class Row(NamedTuple):
    """A command line, and what comes of it; `{ns}` is the user's namespace."""

    line: str
    code: int
    error: str
    fix: str


LINES = (
    Row("describe nobody", 3, "there is no server `nobody` in namespace `{ns}`",
        "see what there is with `devctl list`, everywhere with -A"),
    Row("create box --flavor nope", 3, "there is no flavor `nope`",
        "see what there is with `devctl flavors`"),
    Row("create taken --flavor {ns}", 1, "server `taken` already exists in namespace `{ns}`",
        "look at it with `devctl describe taken`, or choose another name"),
    Row("create Not_A_Name", 2, "`Not_A_Name` cannot be a server's name",
        "a name has to start with a letter and have at most 52 lower-case letters, digits and '-'"),
    Row("create box --flavor {ns} --home-size much", 2,
        '`box` is not valid: spec.persistentHomeSize: Invalid value: "much": a home has 1Mi to '
        "1Pi; write its size with a unit, for example `100Gi`",
        "change what it names, and repeat the command"),
    Row("create box --flavor {ns} --distributed", 2,
        "the number of pods is missing",
        "name it with --replicas, or the number of all processes with --world-size"),
    Row("create box --ttl soon", 2,
        "invalid value for '--ttl': `soon` is not a duration: write seconds, or `90m`, `1d12h`",
        "see `devctl create --help`"),
    Row("lst", 2, "there is no command `devctl lst`", "did you mean `devctl list`?"),
    Row("list -A", 5, "you (`{owner}`) may not list devservers in the whole cluster", RIGHT),
    Row("-n kube-system delete box", 5,
        "you (`{owner}`) may not get devservers in namespace `kube-system`", RIGHT),
    Row("homes delete home-none-0 --confirm home-none-0", 3,
        "there is no home `home-none-0` in namespace `{ns}`",
        "see what there is with `devctl homes list`"),
    Row("exec taken -- true", 1, "server `taken` is stopped", "start it with `devctl start taken`"),
    Row("start taken --wait --timeout 0", 4, "`taken` is not ready after 0 s", "it keeps starting"),
    Row("list --context nope", 2, "there is no context `nope` in `{kubeconfig}`", "choose one of"),
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def taken(place: UserPlace) -> None:
    """A server that is there, and has no pod."""
    place.server(TAKEN).apply(stopped=True)


@pytest.mark.parametrize("row", LINES, ids=lambda row: row.line)
def test_a_command_line_that_cannot_be_carried_out(place: UserPlace, row: Row) -> None:
    named = {"ns": place.name, "owner": place.owner, "kubeconfig": str(place.user.kubeconfig)}
    said = place.user.fails(row.code, *row.line.format(**named).split())
    error, fix = said.splitlines()[-2:]
    assert error.startswith(f"error: {row.error.format(**named)}")
    assert fix.startswith(f"  fix: {row.fix}")


def no_file(_config: Any) -> str:
    return ""


def no_yaml(_config: Any) -> str:
    return "users: ["


def nobody_listens(config: Any) -> None:
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"


def no_such_host(config: Any) -> None:
    config["clusters"][0]["cluster"]["server"] = "https://api.invalid:6443"


def another_authority(config: Any) -> None:
    del config["clusters"][0]["cluster"]["certificate-authority-data"]


def revoked_token(config: Any) -> None:
    config["users"][0]["user"] = {"token": "ended"}


def failing_plugin(config: Any) -> None:
    about = {"apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"}
    config["users"][0]["user"] = {"exec": {**about, "command": "false"}}


def nobody_known(config: Any) -> None:
    config["users"][0]["user"] = {}


@pytest.mark.parametrize(
    ("broken", "code", "error", "fix"),
    [
        (no_file, 1, "there is no kubeconfig: `{file}` does not exist",
         "name one with --kubeconfig or KUBECONFIG"),
        (no_yaml, 1, "kubeconfig `{file}` cannot be read: ", f"fix it, or {OTHER}"),
        (nobody_listens, 1, "https://127.0.0.1:1 cannot be reached: Connection refused", CHECK),
        (no_such_host, 1, "https://api.invalid:6443 cannot be reached: ", CHECK),
        (another_authority, 1, "the certificate of {server} is not trusted: ",
         "check certificate-authority in the kubeconfig"),
        (revoked_token, 5, "the API server does not accept your credentials: expired", WAY_IN),
        (failing_plugin, 5, "the login program `false` failed with exit code 1", "log in as its"),
        (nobody_known, 5, "the API server does not know who you are", "log in to the cluster"),
    ],
)  # fmt: skip
def test_a_way_to_the_cluster_that_leads_nowhere(  # noqa: PLR0913, PLR0917 - a row of the table
    place: UserPlace, tmp_path: Path, broken: Any, code: int, error: str, fix: str
) -> None:
    config = json.loads(place.user.kubeconfig.read_text())
    server = config["clusters"][0]["cluster"]["server"]
    text = broken(config)
    file = tmp_path / "kubeconfig"
    if text != "":
        file.write_text(text or json.dumps(config))
    told = replace(place.user, kubeconfig=file).fails(code, "list").splitlines()
    assert len(told) == len(("error", "fix"))
    assert told[0].startswith(f"error: {error.format(file=file, server=server)}")
    assert told[1].startswith(f"  fix: {fix}")


def test_an_expired_certificate(place: UserPlace, plane: Plane, tmp_path: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    authority, authority_key = (plane.pki.file(f"ca.{end}").read_bytes() for end in ("crt", "key"))
    ended = expired(key, authority, authority_key)
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    config = json.loads(place.user.kubeconfig.read_text())
    files = {"client-certificate-data": ended, "client-key-data": private}
    user = {name: base64.b64encode(data).decode() for name, data in files.items()}
    config["users"][0]["user"] = user
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(config))
    said = replace(place.user, kubeconfig=file).fails(5, "list")
    assert said.splitlines() == [
        "error: the API server does not accept your credentials: expired, or of another cluster",
        f"  fix: {WAY_IN}",
    ]


def expired(key: ec.EllipticCurvePrivateKey, authority: bytes, authority_key: bytes) -> bytes:
    """A user's certificate of the cluster's own authority that has ended an hour ago."""
    signer: Any = load_pem_private_key(authority_key, None)
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "late")]))
        .issuer_name(x509.load_pem_x509_certificate(authority).subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=2))
        .not_valid_after(now - timedelta(hours=1))
        .sign(signer, hashes.SHA256())
        .public_bytes(serialization.Encoding.PEM)
    )


def test_somebody_without_any_right(place: UserPlace, kubectl: Kubectl, tmp_path: Path) -> None:
    file = account_kubeconfig(
        kubectl, place.administrator.kubeconfig, place.name, "other", tmp_path
    )
    other = replace(place.user, kubeconfig=file)
    said = other.fails(5, "create", "box", "--flavor", place.name)
    who = f"system:serviceaccount:{place.name}:other"
    assert f"error: you (`{who}`) may not create devservers in namespace `{place.name}`" in said
    assert other.must("flavors")


def test_a_quota_that_is_used_up(place: UserPlace, kubectl: Kubectl) -> None:
    quota = ("quota", "few", "-n", place.name)
    kubectl("create", *quota, "--hard=count/devservers.devops.yourcompany.com=1")
    try:
        kubectl("wait", *quota, "--for=jsonpath={.status.used}", "--timeout=60s")
        said = place.user.fails(5, "create", "box", *place.options, "--no-wait")
    finally:
        kubectl("delete", *quota)
    assert "exceeded quota: few" in said
    assert "fix: stop or delete something in this namespace" in said


@pytest.mark.parametrize("line", ["list", "list -o json", "flavors", "describe taken"])
def test_a_reader_that_leaves_early_is_told_nothing(place: UserPlace, line: str) -> None:
    script = f"set -o pipefail; devctl {line} | head -c 0"
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, check=False, env=place.user.variables
    )
    assert done.stderr == b""


def test_colours_and_tracebacks_are_for_those_who_want_them(place: UserPlace) -> None:
    plain = replace(place.user, environment=place.user.environment | {"NO_COLOR": "1"})
    for user, colours in ((place.user, True), (plain, False)):
        screen = user.terminal("doctor")
        screen.expect("kubeconfig")
        assert (b"\x1b[32m" in screen.before) is colours
        screen.wait()
    assert b"Traceback" in place.user("-vv", "describe", "nobody").stderr
