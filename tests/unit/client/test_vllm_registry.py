"""Whether a registry has an image: what is asked, of whom, and what counts as an answer."""

from __future__ import annotations

import doctest
from dataclasses import dataclass, field

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.client.vllm import registry
from devctl.client.vllm.registry import challenge_of, look_up, place_of

IMAGE = "registry.example/vllm:abc"
MANIFEST = "https://registry.example/v2/vllm/manifests/abc"
AUTH = "https://auth.example/token"
CHALLENGE = f'Bearer realm="{AUTH}",service="registry",scope="repository:vllm:pull"'


@dataclass
class Registry:
    """Has a manifest, which perhaps wants what `body` has to be shown."""

    status: int = 200
    challenge: str = ""
    body: str = '{"token": "t0ken"}'
    asked: list[str] = field(default_factory=list)

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(f"{request.method} {request.url}")
        if "/v2/" not in str(request.url):
            return httpx2.Response(200, text=self.body)
        assert "manifest" in request.headers["Accept"]
        known = request.headers.get("Authorization") == "Bearer t0ken"
        if self.challenge and not known:
            return httpx2.Response(401, headers={"WWW-Authenticate": self.challenge})
        return httpx2.Response(self.status)

    def says(self, image: str = IMAGE) -> registry.Answer:
        return look_up(image, httpx2.MockTransport(self))


def test_examples() -> None:
    assert doctest.testmod(registry).failed == 0


@pytest.mark.parametrize(
    ("image", "url"),
    [
        ("nginx", "https://registry-1.docker.io/v2/library/nginx/manifests/latest"),
        ("docker.io/a/b:1", "https://registry-1.docker.io/v2/a/b/manifests/1"),
        ("r.example/a@sha256:0ab", "https://r.example/v2/a/manifests/sha256:0ab"),
        ("r.example:5000/a:1@sha256:0ab", "https://r.example:5000/v2/a/manifests/sha256:0ab"),
        # Nobody listens in between.
        ("localhost:5000/a:1", "http://localhost:5000/v2/a/manifests/1"),
        ("127.0.0.1:5000/a:1", "http://127.0.0.1:5000/v2/a/manifests/1"),
        ("localhost.example/a:1", "https://localhost.example/v2/a/manifests/1"),
        ("127.0.0.1.example/a:1", "https://127.0.0.1.example/v2/a/manifests/1"),
    ],
)
def test_where_an_image_is(image: str, url: str) -> None:
    place = place_of(image)
    assert place
    assert place.url == url


ANSWERS = {200: True, 404: False, 403: None, 500: None, 301: None}


@pytest.mark.parametrize("status", ANSWERS)
def test_only_a_clear_answer_counts(status: int) -> None:
    fake = Registry(status)
    assert fake.says().exists is ANSWERS[status]
    assert fake.asked == [f"HEAD {MANIFEST}"]


@pytest.mark.parametrize("status", ANSWERS)
def test_a_token_for_everybody_is_fetched(status: int) -> None:
    fake = Registry(status, CHALLENGE)
    assert fake.says().exists is ANSWERS[status]
    query = "service=registry&scope=repository%3Avllm%3Apull"
    assert fake.asked == [f"HEAD {MANIFEST}", f"GET {AUTH}?{query}", f"HEAD {MANIFEST}"]


@pytest.mark.parametrize(
    ("challenge", "body"),
    [
        ("Basic realm=x", ""),
        ('Bearer realm="http://auth.example/token"', ""),
        ('Bearer realm="file:///etc/passwd"', ""),
        ('Bearer scope="x"', ""),
        (CHALLENGE, "[]"),
        (CHALLENGE, '{"token": 1}'),
        (CHALLENGE, '{"token": "a\\nb"}'),
        (CHALLENGE, '{"token": "other"}'),
        (CHALLENGE, '{"token": "' + "t" * (1 << 19) + '"}'),
        (CHALLENGE, "no json"),
    ],
)
def test_what_is_no_token_is_no_answer(challenge: str, body: str) -> None:
    fake = Registry(challenge=challenge, body=body)
    assert fake.says().exists is None
    assert len([line for line in fake.asked if "auth" in line]) == (challenge == CHALLENGE)


def test_a_token_may_have_its_other_name() -> None:
    assert Registry(challenge=CHALLENGE, body='{"access_token": "t0ken"}').says().exists


def test_a_registry_that_is_away_is_no_answer() -> None:
    def refuses(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused", request=request)

    found = look_up(IMAGE, httpx2.MockTransport(refuses))
    assert (found.exists, found.why) == (None, "registry.example cannot be asked: refused")


@given(st.text(max_size=60))
def test_any_text_gets_an_answer(text: str) -> None:
    assert look_up(text, httpx2.MockTransport(lambda _: httpx2.Response(503))).exists is None
    assert isinstance(challenge_of(text), dict)
