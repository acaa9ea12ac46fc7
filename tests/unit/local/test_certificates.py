from __future__ import annotations

import ssl
from base64 import b64decode
from contextlib import suppress
from typing import TYPE_CHECKING

from cryptography import x509

from devctl.local.certificates import FILES, ensure_certificate

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ["webhook.system.svc", "api.system.svc"]


def test_a_client_that_trusts_the_authority_accepts_the_certificate_for_each_name(
    tmp_path: Path,
) -> None:
    ensure_certificate(tmp_path, NAMES)
    for name in NAMES:
        trusting = ssl.create_default_context(cafile=tmp_path / "ca.crt")
        # As Python does by itself since 3.13.
        trusting.verify_flags |= ssl.VERIFY_X509_STRICT
        serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        serving.load_cert_chain(tmp_path / "tls.crt", tmp_path / "tls.key")
        to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = trusting.wrap_bio(to_client, to_server, server_hostname=name)
        server = serving.wrap_bio(to_server, to_client, server_side=True)
        for side in (client, server, client, server):
            with suppress(ssl.SSLWantReadError):
                side.do_handshake()
        assert client.getpeercert()


def test_the_same_certificate_is_kept_for_the_same_names(tmp_path: Path) -> None:
    first = ensure_certificate(tmp_path, NAMES)
    assert sorted(first) == sorted(FILES)
    assert ensure_certificate(tmp_path, NAMES) == first
    assert ensure_certificate(tmp_path, [*NAMES, "metrics.system.svc"]) != first


def test_a_damaged_certificate_is_made_again(tmp_path: Path) -> None:
    ensure_certificate(tmp_path, NAMES)
    (tmp_path / "tls.crt").write_text("damaged")
    again = ensure_certificate(tmp_path, NAMES)
    assert x509.load_pem_x509_certificate(b64decode(again["tls.crt"]))


def test_nobody_else_reads_the_key(tmp_path: Path) -> None:
    ensure_certificate(tmp_path, NAMES)
    assert (tmp_path / "tls.key").stat().st_mode & 0o077 == 0
