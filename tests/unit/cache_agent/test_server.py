"""The HTTP API: nothing without the token."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest
from devctl_cache_agent import server

if TYPE_CHECKING:
    from devctl_cache_agent.server import Page

TOKEN = "t" * server.MIN_TOKEN


def ask(
    path: str, authorization: str = f"Bearer {TOKEN}", *, token: str = TOKEN, problem: str = ""
) -> Page:
    return server.answer(path, authorization, token, lambda: {"images": []}, lambda: problem)


def test_whoever_has_the_token_sees_status_and_health() -> None:
    assert ask("/status?x=y") == (200, {"images": []})
    assert ask("/healthz") == (200, {"status": "ok"})
    assert ask("/healthz", problem="HTTP 500") == (503, {"error": "HTTP 500"})
    assert ask("/allocate").code == 404


@pytest.mark.parametrize("path", ["/status", "/healthz", "/allocate", "/"])
@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer ", f"Bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN, "Bearer \udcff", "é é"],
)
def test_nobody_else_sees_anything_not_even_which_paths_there_are(
    path: str, authorization: str
) -> None:
    assert ask(path, authorization).code == 401


@pytest.mark.parametrize("token", ["", "short"])
def test_without_a_proper_token_nobody_is_let_in(token: str) -> None:
    assert ask("/status", f"Bearer {token}", token=token).code == 401


def test_it_is_served_over_http(socket_enabled: None) -> None:  # noqa: ARG001
    serving = server.Server(("127.0.0.1", 0), ask)
    thread = threading.Thread(target=serving.serve_forever, args=(0.01,))
    thread.start()
    url = f"http://127.0.0.1:{serving.server_address[1]}/status"
    try:
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {TOKEN}"})
        with urllib.request.urlopen(request) as answer:
            found: Any = json.load(answer)
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(url)
    finally:
        serving.shutdown()
        thread.join()
        serving.server_close()
    assert found == {"images": []}
