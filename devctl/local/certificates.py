"""Serving certificates for programs inside a cluster, made on this machine.

`cryptography` comes with Ansible, without which there is no local cluster.
"""

from __future__ import annotations

import datetime as dt
from base64 import b64encode
from ipaddress import ip_address
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# As long as those that kubeadm makes for a local cluster, which nothing renews.
_LIFE = dt.timedelta(hours=87600)
_SIGNS = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)
FILES = ("ca.crt", "tls.crt", "tls.key")


def ensure_certificate(folder: Path, names: Sequence[str]) -> dict[str, str]:
    """The certificate for these DNS names and addresses, made unless the folder has it.

    Returns:
        File name to its content in base64: `ca.crt`, `tls.crt` and `tls.key`.
    """
    if _names(folder / "tls.crt") != list(names):
        for file, content in make_certificate(names).items():
            path = folder / file
            path.touch(mode=0o600)
            path.write_bytes(content)
    return {file: b64encode((folder / file).read_bytes()).decode() for file in FILES}


def make_certificate(names: Sequence[str]) -> dict[str, bytes]:
    """A certificate for these names, and the authority that signed it, whose key is dropped."""
    authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    issuer = _name(f"{names[0]} certificate authority")
    signer = authority_key.public_key()
    # The key that signs is dropped with this function: the authority never signs another one.
    authority = (
        _builder(issuer, issuer, signer, signer)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_SIGNS, critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    certificate = (
        _builder(_name(names[0]), issuer, key.public_key(), signer)
        .add_extension(
            x509.SubjectAlternativeName([_alternative(n) for n in names]), critical=False
        )
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    return {
        "ca.crt": authority.public_bytes(serialization.Encoding.PEM),
        "tls.key": key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
        # Last, since its presence means that the others are complete.
        "tls.crt": certificate.public_bytes(serialization.Encoding.PEM),
    }


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _name(common_name: str) -> x509.Name:
    # A common name has 64 characters at most.
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name[:64])])


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    signer: ec.EllipticCurvePublicKey,
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    # Since 3.13, Python's clients want both identifiers, as RFC 5280 does.
    authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        # Clocks differ.
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + _LIFE)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(authority, critical=False)
    )


def _names(file: Path) -> list[str]:
    try:
        certificate = x509.load_pem_x509_certificate(file.read_bytes())
        # Certificates of earlier releases have none.
        certificate.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier)
        alternative = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except (OSError, ValueError, x509.ExtensionNotFound):
        return []
    return [str(name.value) for name in alternative.value]
