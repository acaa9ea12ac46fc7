"""The identity file: whatever would make a token ambiguous is refused at the start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from devctl_gateway.identity.issuers import read_issuers
from support.gateway_app import ISSUER, OTHER_ISSUER, identity_file, issuer, local_issuer

if TYPE_CHECKING:
    from pathlib import Path


def test_issuers_are_read(tmp_path: Path) -> None:
    found = read_issuers(identity_file(tmp_path))
    assert [each.issuer for each in found] == [ISSUER, OTHER_ISSUER]


def test_without_a_file_there_are_no_users() -> None:
    assert read_issuers("") == ()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"algorithms": ["ES256", "HS256"]}, "never both"),
        ({"algorithms": ["HS256"]}, "never both"),
        ({"algorithms": ["none"]}, "algorithms"),
        ({"algorithms": []}, "algorithms"),
        ({"jwks_file": ""}, "needs one of"),
        ({"key_file": "secret"}, "needs one of"),
        ({"jwks_url": "https://login.test/keys"}, "needs one of"),
        ({"jwks_file": "", "jwks_url": "http://login.test/keys"}, "jwks_url"),
        ({"roles": {"x": "node"}}, "roles"),
        ({"roles": {"x": "king"}}, "roles"),
        ({"issuer": ""}, "issuer"),
        ({"audience": ""}, "audience"),
        ({"audince": "x"}, "audince"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_issuers(identity_file(tmp_path, issuer(tmp_path, **change)))


def test_a_secret_key_signs_no_asymmetric_algorithm(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="never both"):
        read_issuers(identity_file(tmp_path, local_issuer(tmp_path, algorithms=["RS256"])))


def test_an_issuer_is_listed_once(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="twice"):
        read_issuers(identity_file(tmp_path, issuer(tmp_path), issuer(tmp_path)))


@pytest.mark.parametrize("text", ["", "{", "{}", "7"])
def test_what_is_no_list_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "identity.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"identity\.json"):
        read_issuers(str(path))
