"""Why nothing is made."""

from __future__ import annotations

BAD_CAPSULE, BAD_REPOSITORY, NO_FIT, NO_TARGET, BAD_TREE = 90, 91, 92, 93, 94
"""Exit codes: the capsule or the repository is not what it should be, a change does not apply, the
target is in the way or cannot be written, what was written reads differently."""


class RefusedError(Exception):
    """Something is not as it should be, and there is no target; `code` is the exit code."""

    def __init__(self, code: int, why: str) -> None:
        """Keep both."""
        super().__init__(why)
        self.code = code


def bad_capsule(why: str) -> RefusedError:
    """The error for a capsule that nothing of ours has made."""
    return RefusedError(BAD_CAPSULE, f"the capsule cannot be used: {why}")


def shown(path: bytes) -> str:
    """A path for a message, on one line of any terminal."""
    text = path.decode("utf-8", "backslashreplace")
    return f"`{text if text.isascii() and text.isprintable() else ascii(text)[1:-1]}`"
