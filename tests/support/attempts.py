"""Requests that a user tries, one line each, and what the API server answers."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from support.api import connect

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import httpx2

_STREAM = re.compile(r"/(exec|attach|log|portforward|proxy|resize)\b")
"""What ends at a kubelet: nothing is checked there without an effect."""
_REFUSALS = {401, 403, 404, 405}


@dataclass(frozen=True)
class Attempt:
    """A request; `{word}` in it is what the sender knows by that word.

    Attributes:
        line: Method and path.
        body: What is sent.
        who: Headers that claim to be somebody else.
    """

    line: str
    body: Mapping[str, Any] | None = None
    who: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_stream(self) -> bool:
        """Whether somebody else than the API server has the last word."""
        return _STREAM.search(self.line) is not None

    def __str__(self) -> str:
        """As pytest is to call it."""
        return " ".join((self.line, *self.who.values()))


def attempt(line: str, body: Mapping[str, Any] | None = None, /, **who: str) -> Attempt:
    """A request, perhaps as another `user` or `group`."""
    return Attempt(line, body, {f"Impersonate-{part.title()}": name for part, name in who.items()})


class Sender:
    """Somebody with a token.

    Args:
        kubeconfig: A kubeconfig with their token and the cluster's authority.
        words: What `{word}` stands for in what they send.
    """

    def __init__(self, kubeconfig: Path, words: Mapping[str, str]) -> None:
        """Ask nothing yet."""
        self._http, self._words = connect(kubeconfig), words

    def send(self, tried: Attempt) -> httpx2.Response:
        """Try it; nothing comes of it where the API server lets it through."""
        method, path = self._of(tried.line).split(" ", 1)
        patch = "application/merge-patch+json"
        headers = {"Content-Type": patch if method == "PATCH" else "application/json"}
        if method != "GET" and not tried.is_stream:
            path += "?dryRun=All"
        return self._http.request(
            method,
            path,
            headers=headers | {name: self._of(value) for name, value in tried.who.items()},
            content=None if tried.body is None else self._of(json.dumps(tried.body)),
        )

    def objection(self, tried: Attempt) -> str:
        """What is against it; empty where it is done, or passed on to a kubelet."""
        answer = self.send(tried)
        passed = tried.is_stream and answer.status_code not in _REFUSALS
        return "" if answer.is_success or passed else f"{answer.status_code}: {answer.text}"

    def _of(self, text: str) -> str:
        for word, meaning in self._words.items():
            text = text.replace(f"{{{word}}}", meaning)
        return text
