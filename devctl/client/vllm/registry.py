"""Whether a registry has an image: one request, without logging in, before a node tries to pull.

What cannot be found out is no answer: a registry may want a login that only nodes have.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

import httpx2

from devctl.text import readable

if TYPE_CHECKING:
    from collections.abc import Mapping

_TIMEOUT = 5.0
"""Seconds to connect, and for each piece of an answer."""
_LARGEST = 1 << 18
"""Bytes of an answer with a token."""
_OCI, _DOCKER = "application/vnd.oci.image", "application/vnd.docker.distribution.manifest"
_KINDS = f"{_OCI}.index.v1+json, {_OCI}.manifest.v1+json, {_DOCKER}.list.v2+json, {_DOCKER}.v2+json"
_OK, _UNAUTHORIZED, _NOT_FOUND = 200, 401, 404
_HUB = "registry-1.docker.io"
_HERE = re.compile(r"(localhost|127(?:\.\d{1,3}){3}|\[::1\])(:\d{1,5})?", re.ASCII)
_REFERENCE = re.compile(
    r"(?P<name>[^@]+?)(?::(?P<tag>[\w][\w.-]{0,127}))?(?:@(?P<digest>[a-z0-9+._-]+:[0-9a-f]+))?",
    re.ASCII,
)
_PARAMETER = re.compile(r'(\w+)="([^"]*)"', re.ASCII)


class Place(NamedTuple):
    """Where the manifest of an image is."""

    registry: str
    repository: str
    version: str
    """A digest or a tag."""

    @property
    def url(self) -> str:
        """Its address: encrypted, unless the registry is on this machine."""
        scheme = "http" if _HERE.fullmatch(self.registry) else "https"
        return f"{scheme}://{self.registry}/v2/{self.repository}/manifests/{self.version}"


class Answer(NamedTuple):
    """What a registry said."""

    exists: bool | None
    """None if that could not be found out."""
    why: str = ""
    """Why it could not."""


def place_of(image: str) -> Place | None:
    """Where an image is, by the rules of container runtimes; None for what is no reference.

    >>> place_of("vllm/vllm-openai:v1"), place_of("localhost:5000/a/b")
    (Place(registry='registry-1.docker.io', repository='vllm/vllm-openai', version='v1'),\
 Place(registry='localhost:5000', repository='a/b', version='latest'))
    """
    found = _REFERENCE.fullmatch(image)
    if not found:
        return None
    host, slash, rest = found["name"].partition("/")
    if not slash or not (set(host) & {".", ":"} or host == "localhost"):
        host, rest = _HUB, found["name"] if slash else f"library/{found['name']}"
    registry = _HUB if host == "docker.io" else host
    return Place(registry, rest, found["digest"] or found["tag"] or "latest")


def look_up(image: str, transport: httpx2.BaseTransport | None = None) -> Answer:
    """Ask the registry of an image whether it has it; tests replace the network by `transport`."""
    place = place_of(image)
    if place is None:
        return Answer(None, "this is no reference of an image")
    try:
        with httpx2.Client(
            transport=transport, timeout=_TIMEOUT, headers={"User-Agent": "devctl"}
        ) as http:
            return _judged(_ask(http, place), place)
    except (httpx2.RequestError, httpx2.InvalidURL, ValueError, OSError) as error:
        return Answer(None, f"{place.registry} cannot be asked: {readable(str(error))}")


def _ask(http: httpx2.Client, place: Place) -> int:
    """The status of the answer, with a token for everybody if the registry wants one."""
    headers = {"Accept": _KINDS}
    answer = http.head(place.url, headers=headers)
    if answer.status_code != _UNAUTHORIZED:
        return answer.status_code
    token = _token(http, place, answer.headers.get("WWW-Authenticate", ""))
    if not token:
        return _UNAUTHORIZED
    return http.head(place.url, headers=headers | {"Authorization": f"Bearer {token}"}).status_code


def _token(http: httpx2.Client, place: Place, challenge: str) -> str:
    """A token that anybody gets; empty if there is none."""
    wanted = challenge_of(challenge)
    realm = httpx2.URL(wanted.get("realm", ""))
    local = _HERE.fullmatch(place.registry) and _HERE.fullmatch(realm.netloc.decode())
    if realm.scheme != "https" and not (realm.scheme == "http" and local):
        return ""
    asked = {name: wanted[name] for name in ("service", "scope") if name in wanted}
    with http.stream("GET", realm, params=dict(realm.params) | asked) as answer:
        if answer.status_code != _OK:
            return ""
        text = b""
        for piece in answer.iter_bytes():
            text += piece
            if len(text) > _LARGEST:
                return ""
    return _token_in(text)


def challenge_of(header: str) -> Mapping[str, str]:
    """The parameters of a challenge for a bearer's token; empty if it is none.

    >>> challenge_of('Bearer realm="https://auth.example/token",scope="repository:a:pull"')
    {'realm': 'https://auth.example/token', 'scope': 'repository:a:pull'}
    """
    scheme, _, rest = header.partition(" ")
    return dict(_PARAMETER.findall(rest)) if scheme.lower() == "bearer" else {}


def _token_in(text: bytes) -> str:
    said = json.loads(text)
    found = said.get("token") or said.get("access_token") if isinstance(said, dict) else None
    return found if isinstance(found, str) and found.isascii() and found.isprintable() else ""


def _judged(status: int, place: Place) -> Answer:
    if status == _OK:
        return Answer(exists=True)
    if status == _NOT_FOUND:
        return Answer(exists=False)
    if status == _UNAUTHORIZED:
        return Answer(None, f"{place.registry} wants a login")
    return Answer(None, f"{place.registry} answered with status {status}")
