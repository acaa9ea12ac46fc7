"""Files that look like secrets, which are sent only on request."""

from __future__ import annotations

import re

MOST = 1 << 18
"""Bytes of a file that are searched; larger files are not."""

_HARMLESS = re.compile(r"(?s:.*\.(?:example|sample|template|dist|pub|md))")
_NAMES = re.compile(
    r"(?s:\.env(?:\..*)?|.*\.env|\.envrc"
    r"|[._]netrc|\.pgpass|\.my\.cnf|\.pypirc|\.npmrc|\.htpasswd"
    r"|\.git-credentials|\.docker(?:cfg|configjson)|\.vault-token"
    r"|id_(?:rsa|dsa|ecdsa|ed25519).*"
    r"|.*\.(?:key|ppk|p12|pfx|jks|keystore|kdbx|kubeconfig)"
    r"|kubeconfig|credentials(?:\.json)?"
    r"|client_secret.*\.json|service[-_]account.*\.json"
    r"|secrets\.(?:json|toml|yaml|yml))"
)
_PLACES = re.compile(
    r"(?s:(?!(?:.*/)?\.ssh/(?:known_hosts|config|authorized_keys)\Z)"
    r"(?:.*/)?(?:\.ssh/.*"
    r"|\.gnupg/.*|\.azure/.*|\.config/gcloud/.*"
    r"|\.aws/credentials|\.kube/config|\.docker/config\.json"
    r"|\.cache/huggingface/token|\.huggingface/token))"
)

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
    if _HARMLESS.fullmatch(name):
        return False
    return bool(_NAMES.fullmatch(name) or _PLACES.fullmatch(path))


def secret_content(data: bytes) -> bool:
    """Whether a file's content has a private key or a well-known kind of token in it.

    >>> secret_content(b"token = 'ghp_" + b"a" * 36 + b"'"), secret_content(b"ghp_short")
    (True, False)
    """
    # A binary file holds none on purpose, but may match by chance.
    return b"\0" not in data[:8192] and _TOKENS.search(data) is not None
