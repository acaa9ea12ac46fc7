"""Files that look like secrets, which are sent only on request."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

MOST = 1 << 18
"""Bytes of a file that are searched; larger files are not."""

_HARMLESS = ("*.example", "*.sample", "*.template", "*.dist", "*.pub", "*.md")
_NAMES = (
    ".env",
    ".env.*",
    "*.env",
    ".envrc",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".pypirc",
    ".npmrc",
    ".git-credentials",
    ".dockercfg",
    ".dockerconfigjson",
    ".htpasswd",
    ".vault-token",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "*.key",
    "*.ppk",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "kubeconfig",
    "*.kubeconfig",
    "credentials",
    "credentials.json",
    "client_secret*.json",
    "service-account*.json",
    "service_account*.json",
    "secrets.json",
    "secrets.toml",
    "secrets.yaml",
    "secrets.yml",
)
_PLACES = (
    ".ssh/*",
    ".aws/credentials",
    ".kube/config",
    ".docker/config.json",
    ".gnupg/*",
    ".config/gcloud/*",
    ".azure/*",
    ".cache/huggingface/token",
    ".huggingface/token",
)
_PUBLIC = ("known_hosts", "config", "authorized_keys")

# Word boundaries on both sides: a long line of base64 holds any short text somewhere.
_TOKENS = re.compile(
    rb"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----\r?\n"
    rb"(?:[A-Za-z-]+: [^\n]*\r?\n|\r?\n)*[A-Za-z0-9+/=]{40,}"
    rb"|(?<![A-Za-z0-9+/_-])(?:"
    rb"(?:AKIA|ASIA)[A-Z2-7]{16}"
    rb"|gh[pousr]_[A-Za-z0-9]{36,255}"
    rb"|github_pat_[A-Za-z0-9_]{60,255}"
    rb"|glpat-[A-Za-z0-9_-]{20,64}"
    rb"|hf_[A-Za-z0-9]{30,64}"
    rb"|sk-(?:proj-|ant-[a-z0-9]+-)?[A-Za-z0-9_-]{40,200}"
    rb"|xox[abeoprs]-[A-Za-z0-9-]{20,200}"
    rb"|AIza[A-Za-z0-9_-]{35}"
    rb"|npm_[A-Za-z0-9]{36}"
    rb"|pypi-AgE[A-Za-z0-9_-]{50,255}"
    rb"|[sr]k_live_[A-Za-z0-9]{20,200}"
    rb")(?![A-Za-z0-9+/_-])"
)


def secret_name(path: str) -> bool:
    """Whether secrets are usually kept under such a path.

    >>> secret_name("app/.env"), secret_name(".env.example"), secret_name("environment.py")
    (True, False, False)
    """
    path = path.lower()
    name = path.rpartition("/")[2]
    if any(fnmatchcase(name, pattern) for pattern in _HARMLESS):
        return False
    if any(fnmatchcase(name, pattern) for pattern in _NAMES):
        return True
    if f"/{path}".endswith(tuple(f"/.ssh/{known}" for known in _PUBLIC)):
        return False
    return any(fnmatchcase(f"/{path}", f"*/{pattern}") for pattern in _PLACES)


def secret_content(data: bytes) -> bool:
    """Whether a file's content has a private key or a well-known kind of token in it.

    >>> secret_content(b"token = 'ghp_" + b"a" * 36 + b"'"), secret_content(b"ghp_short")
    (True, False)
    """
    # A binary file holds none on purpose, but may match by chance.
    return b"\0" not in data[:8192] and _TOKENS.search(data) is not None
