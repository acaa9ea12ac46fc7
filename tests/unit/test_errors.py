"""The one tree of exceptions, told apart by class, reason and kind, never by prose."""

from __future__ import annotations

import re
from typing import Any

import pytest

from devctl import errors
from devctl.errors import DevctlError, NotFoundError, UsageError
from devctl.kube.failures import NO_SUCH_KIND, refusal
from devctl.local.paths import REPOSITORY

PROSE = re.compile(
    r"""
    \b(?:in|==|!=)\s+[\w.]+\.(?:message|fix)\b             # "words" in error.message
    | \.(?:message|fix)\s*(?:==|!=)                          # error.message == "words"
    | \.(?:message|fix)\.(?:startswith|endswith|find)\(      # error.message.startswith("words")
    | \b(?:search|match)\([^)]*\.(?:message|fix)\b          # re.search("words", error.message)
    | \bin\s+str\((?:error|err|e)\)                         # "words" in str(error)
    """,
    re.VERBOSE,
)
ROOMS = ("devctl", "plugins", "images/observer", "images/operator")


def classes(base: type[DevctlError] = DevctlError) -> list[type[DevctlError]]:
    return [base, *(each for child in base.__subclasses__() for each in classes(child))]


def test_nothing_branches_on_the_words_of_an_error() -> None:
    modules = [path for room in ROOMS for path in (REPOSITORY / room).rglob("*.py")]
    assert len(modules) > 100
    assert [path for path in modules if PROSE.search(path.read_text())] == []


@pytest.mark.parametrize(
    "line",
    [
        'if "not found" not in error.message:',
        'if error.message.startswith("there is no"):',
        'if error.fix == "":',
        'if "refused" in str(error):',
        're.search("gone", error.message)',
    ],
)
def test_such_a_branch_is_found(line: str) -> None:
    assert PROSE.search(line)


def test_every_class_has_a_reason_of_one_word_and_a_place_in_the_tree() -> None:
    tree = errors.__doc__ or ""
    for each in classes():
        if each.__module__ == errors.__name__:
            assert each.__name__ in tree
            assert re.fullmatch(r"[A-Z][A-Za-z]+", each.reason)


def test_an_error_has_the_reason_of_its_class_unless_there_is_a_closer_one() -> None:
    assert UsageError("a").reason == "BadRequest"
    error = DevctlError("a", reason="Conflict", kind="devservers")
    assert (error.reason, error.kind) == ("Conflict", "devservers")
    assert DevctlError("b").reason == "Failed"


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [
        (
            {"message": 'pods "p" not found', "details": {"name": "p", "kind": "pods"}},
            "NotFound",
            "pods",
        ),
        (
            {"message": 'namespaces "n" not found', "details": {"kind": "namespaces"}},
            "NotFound",
            "namespaces",
        ),
        ({"message": "the server could not find the requested resource"}, NO_SUCH_KIND, ""),
        ({"message": "404 page not found"}, NO_SUCH_KIND, ""),
    ],
)
def test_a_missing_object_is_told_from_a_missing_kind(
    status: dict[str, Any], reason: str, kind: str
) -> None:
    error = refusal({"code": 404, **status})
    assert isinstance(error, NotFoundError)
    assert (error.reason, error.kind) == (reason, kind)
