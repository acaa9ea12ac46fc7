"""What the page of a run says of its checkout, and of what its node had ready."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from devctl.cli.times import span

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from devctl.client.vllm.run import VLLMRun

_SHORT = 12


def checkout_facts(run: VLLMRun) -> Iterator[tuple[str, str]]:
    """The labels and facts of a run's repository and checkout, and of its node's cache."""
    if repo := run.spec.get("repoName"):
        yield "Repository", str(repo)
    if run.checkout:
        yield "Checkout", _checkout(run)
        yield "Changes", _changes(run)
    yield from _cache(run)


def _checkout(run: VLLMRun) -> str:
    """The commit that a run's checkout builds on, and the branch."""
    commit = str(run.checkout.get("commit") or "")[:_SHORT]
    return f"{commit}, branch {run.branch}" if run.branch else commit


def _changes(run: VLLMRun) -> str:
    """What a run has besides the commit: how much, and in which capsule."""
    capsule: Mapping[str, Any] = run.checkout.get("capsule") or {}
    if not capsule:
        return "none"
    digest = str(capsule.get("digest") or "")[:_SHORT]
    return f"{run.changes}; capsule {digest}" if run.changes else f"capsule {digest}"


def _cache(run: VLLMRun) -> Iterator[tuple[str, str]]:
    """What the node of a run had ready, and how much time that saved; nothing if it is not known.

    Each is `ready`, `pulling` or `absent`.
    """
    found = run.cache
    parts = [f"{name} {found[name]}" for name in ("image", "repository") if found.get(name)]
    parts += [
        f"model {model.get('name', '?')} {model.get('state', '?')}"
        for model in found.get("models") or []
    ]
    if parts:
        yield "Cache", ", ".join(parts)
    saved = found.get("savedSeconds")
    if isinstance(saved, int):
        yield "Saved", f"{span(timedelta(seconds=saved))} of pulling" if saved else "nothing"
