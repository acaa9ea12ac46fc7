"""What went wrong in a pod, told by what its programs have said."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from devctl.client.files.names import readable
from devctl.errors import DeniedError, DevctlError, NotFoundError, UsageError

if TYPE_CHECKING:
    from devctl.client.files.remote import Spot

HOME = "/home/dev"
_IN_THE_WAY, _NO_FOLDER, _NOT_THERE, _NO_PROGRAM, _NOT_FOUND = 94, 95, 96, 98, 127
_TAR = re.compile(r"^(?:busybox )?(?:tar|mv|rm|mkdir|find|mktemp|cat|sh|-?sh: \d+): ")
_TEMPLATE = re.compile(r"failed to create directory via template .{1,4200}?: ")
_NOISE = ("Exiting with failure", "Removing leading", "Error is not recoverable", "xargs:")


def check(place: Spot, code: int, errors: bytes) -> None:
    """See how a script of devctl.client.files.scripts has ended.

    Raises:
        DevctlError: It has failed.
    """
    if code == 0:
        return
    said = lines(errors)
    if code == _IN_THE_WAY:
        name = readable(os.fsdecode(errors).removesuffix("\n").removeprefix("./"))
        raise DevctlError(
            f"`{place}`: `{name}` is a folder there and a file here, or the other way round;"
            " nothing was changed",
            "rename the one or the other",
        )
    if code == _NO_FOLDER:
        raise UsageError(f"`{place}` is not a folder", "name a folder, there or not")
    if code == _NOT_THERE:
        raise NotFoundError(f"there is no `{place}`", place.advice.look)
    if code in {_NO_PROGRAM, _NOT_FOUND}:
        program = said[-1] if code == _NO_PROGRAM and said else "tar"
        raise DevctlError(
            f"`{place}`: its image has no `{program[:20]}`",
            place.advice.no_tar,
        )
    raise failure(place, said)


def in_home(path: str) -> bool:
    """Whether a path of a server is on the volume of its home.

    >>> in_home("/home/dev"), in_home("/home/dev/a"), in_home("/home/developer")
    (True, True, False)
    """
    return f"{path}/".startswith(f"{HOME}/")


def failure(place: Spot, said: list[str]) -> DevctlError:
    """What went wrong in a pod, by what its programs have said."""
    why = said[-1] if said else "the command ended without a word"
    for line in said:
        what = line.rpartition(": ")[2]
        low = line.lower()
        if "wrote only" in low:
            # GNU's tar says no more than this where a part of its last piece still fits.
            what, low = "there is room for a part only", "no space left"
        if "no space left" in low or "quota exceeded" in low:
            return full(place, what)
        if "read-only file" in low:
            return DevctlError(f"`{place}`: {what}; nothing was changed", place.advice.read_only)
        if "permission denied" in low or "not permitted" in low:
            return DeniedError(f"`{place}`: {line}", place.advice.denied)
    return DevctlError(f"`{place}`: {why}", place.advice.look)


def full(place: Spot, what: str) -> DevctlError:
    """That a volume has no room for what is sent to it."""
    volume = "the home" if in_home(place.path) else "the volume"
    return DevctlError(
        f"`{place}`: {volume} is full: {what}; nothing was changed", place.advice.no_room
    )


def lines(errors: bytes) -> list[str]:
    """What programs have said, without their names and what they say to each other."""
    found = []
    for line in os.fsdecode(errors).splitlines():
        text = _TEMPLATE.sub("", _TAR.sub("", line.strip()))
        if text and not any(noise in text for noise in _NOISE):
            found.append(readable(text).replace(": Cannot open:", ":"))
    return found
