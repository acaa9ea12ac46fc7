"""The key by which a server is known over SSH."""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)


def new_host_key(comment: str) -> dict[str, str]:
    """A new key in the files that sshd reads; a comment says whose it is.

    Every run makes one and only a server's first keeps it (the manifest is create-only): that costs
    less than finding out whether it is needed.
    """
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return {"private": private.decode(), "public": f"{public.decode()} {comment}\n"}
