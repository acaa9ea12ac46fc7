"""A cluster's certificate authority, its server's certificate and a user's."""

from __future__ import annotations

import base64
import ipaddress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from pathlib import Path


class Certificates(NamedTuple):
    """Files in PEM."""

    authority: Path
    server: Path
    server_key: Path
    user: Path
    user_key: Path


def in_base64(path: Path) -> str:
    """A file as kubeconfigs hold it."""
    return base64.b64encode(path.read_bytes()).decode()


def make_certificates(folder: Path) -> Certificates:
    """Make them anew."""
    key = ec.generate_private_key(ec.SECP256R1())
    authority = _certificate("cluster", key, None, key)
    (folder / "ca.crt").write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    for name in ("server", "user"):
        own = ec.generate_private_key(ec.SECP256R1())
        made = _certificate(name, own, authority, key)
        (folder / f"{name}.crt").write_bytes(made.public_bytes(serialization.Encoding.PEM))
        (folder / f"{name}.key").write_bytes(
            own.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
    names = ("ca.crt", "server.crt", "server.key", "user.crt", "user.key")
    return Certificates(*(folder / name for name in names))


def _certificate(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Certificate | None,
    signer: ec.EllipticCurvePrivateKey,
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    names = [x509.DNSName("kubernetes"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(signer, hashes.SHA256())
    )
