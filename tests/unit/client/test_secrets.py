"""What is taken for a secret."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.client.files.secrets import secret_content, secret_name


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        "deep/.env.production",
        ".ENV",
        "prod.env",
        "id_rsa",
        "keys/id_ed25519.bak",
        "server.key",
        "a.p12",
        ".netrc",
        ".git-credentials",
        ".aws/credentials",
        "x/.kube/config",
        ".docker/config.json",
        ".ssh/whatever",
        "service-account-prod.json",
    ],
)
def test_names_of_secrets(path: str) -> None:
    assert secret_name(path)


@pytest.mark.parametrize(
    "path",
    [
        ".env.example",
        "id_rsa.pub",
        "environment.py",
        "keys.py",
        "config",
        "monkey.txt",
        ".ssh/known_hosts",
        "secret.py",
        "tokenizer.json",
        "docs/credentials.md",
    ],
)
def test_names_of_other_files(path: str) -> None:
    assert not secret_name(path)


BODY = b"b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAAB"


@pytest.mark.parametrize(
    "data",
    [
        b"-----BEGIN " + b"PRIVATE KEY-----\n" + BODY,
        b"x\n-----BEGIN " + b"OPENSSH PRIVATE KEY-----\r\n" + BODY,
        b"-----BEGIN " + b"RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n" + BODY,
        b"key = AK" + b"IA" + b"ABCDEFGHIJKLMNOP",
        b'"gh' + b"p_" + b"a1" * 18 + b'"',
        b"github_" + b"pat_" + b"a1" * 35,
        b"HF=h" + b"f_" + b"aB" * 17,
        b"sk-" + b"ant-api03-" + b"a1_-" * 12,
        b"xo" + b"xb-" + b"1234567890-abcdefghij",
        b"glp" + b"at-" + b"a1" * 10,
    ],
)
def test_content_of_secrets(data: bytes) -> None:
    assert secret_content(data)
    assert secret_content(b"before\n" + data + b"\nafter")


def test_a_long_line_of_base64_is_none_whatever_it_holds_by_chance() -> None:
    assert not secret_content(b"A" * 30 + b"gh" + b"p_" + b"a1" * 18 + b"A" * 30)
    assert not secret_content(b"A" * 30 + b"AK" + b"IA" + b"ABCDEFGHIJKLMNOP")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b'if line.startswith("-----BEGIN PRIVATE KEY-----"):',
        b"-----BEGIN PUBLIC KEY-----\n" + BODY,
        b"-----BEGIN CERTIFICATE-----\n" + BODY,
        b"ghp_short",
        b"\0" + b"ghp_" + b"a" * 36,
        b"task-" + b"a" * 50,
    ],
)
def test_content_of_other_files(data: bytes) -> None:
    assert not secret_content(data)


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_a_token_is_found_in_any_content_but_that_of_binary_files(
    before: bytes, after: bytes
) -> None:
    content = before + b"\ngh" + b"p_" + b"a" * 36 + b"\n" + after
    assert secret_content(content) is (b"\0" not in content)
    assert not secret_content(before)
