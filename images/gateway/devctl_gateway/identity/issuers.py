"""Whose JSON Web Tokens are accepted: the identity file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from devctl_gateway.identity.principal import Role

Asymmetric = Literal[
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"
]
Symmetric = Literal["HS256", "HS384", "HS512"]
_Text = Annotated[str, Field(min_length=1, max_length=512)]


class Issuer(BaseModel):
    """One issuer of tokens, and what its claims mean.

    It has either public keys (`jwks_file` or `jwks_url`) and asymmetric algorithms, or a secret key
    (`key_file`) and symmetric ones, never both: so nobody can sign with a public key.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    issuer: _Text
    """What the claim `iss` must be."""
    audience: _Text
    """What the claim `aud` must be or contain."""
    algorithms: Annotated[list[Asymmetric | Symmetric], Field(min_length=1)]
    """All that are accepted."""
    jwks_file: str = ""
    """A JSON Web Key Set; read again when it may have changed."""
    jwks_url: Annotated[str, Field(pattern=r"^(https://.*)?$")] = ""
    """The same, behind HTTPS."""
    ca_file: str = ""
    """Who signs the certificate of jwks_url, if no public authority does."""
    token_file: str = ""
    """A bearer token for jwks_url, if it needs one, as a cluster's issuer may."""
    key_file: str = ""
    """A secret key, of at least 32 bytes."""
    username_claim: _Text = "preferred_username"
    """Which claim has a name for people; without it, the subject is shown."""
    roles_claim: str = ""
    """Which claim has texts, or a text, that `roles` knows."""
    roles: dict[str, Literal[Role.USER, Role.OPERATOR, Role.ADMIN]] = Field(default_factory=dict)
    """Roles by the claim's values. Everybody is a user."""

    @model_validator(mode="after")
    def _one_sort_of_keys(self) -> Self:
        places = [name for name in ("jwks_file", "jwks_url", "key_file") if getattr(self, name)]
        if len(places) != 1:
            raise ValueError("needs one of `jwks_file`, `jwks_url` and `key_file`")
        symmetric = {name.startswith("HS") for name in self.algorithms}
        if symmetric != {bool(self.key_file)}:
            raise ValueError(
                "HS algorithms need `key_file`, all others `jwks_file` or `jwks_url`: never both"
            )
        return self


_FILE = TypeAdapter(list[Issuer])


def read_issuers(path: str) -> tuple[Issuer, ...]:
    """The issuers that a file lists; none if there is no path.

    Raises:
        ValueError: It is not a list of issuers, or one issuer is in it twice.
        OSError: It cannot be read.
    """
    if not path:
        return ()
    try:
        issuers = _FILE.validate_python(_json(path))
    except ValidationError as error:
        said = "; ".join(
            f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()
        )
        raise ValueError(f"`{path}` does not list issuers of tokens: {said}") from None
    names = [each.issuer for each in issuers]
    if len(set(names)) != len(names):
        raise ValueError(f"`{path}` lists an issuer twice: merge the two")
    return tuple(issuers)


def _json(path: str) -> Any:
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"`{path}` is not JSON: {error}") from None
