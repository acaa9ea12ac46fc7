"""How a capsule gets to a folder in a pod: as a whole, or what has arrived is completed later.

It is written under a temporary name and gets its own once its digest is right, so that one that was
cut off is never taken for the whole.
"""

from __future__ import annotations

import re
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from devctl.client.files.ignore import INCOMING
from devctl.client.files.remote import ask
from devctl.client.files.transfer import expect
from devctl.client.jobs.copy_url import DISCARD, INSTALL
from devctl.errors import ConnectionLostError, DevctlError

if TYPE_CHECKING:
    from pathlib import Path

    from devctl.client.files.remote import Place
    from devctl.client.files.transfer import Progress, Send

_PIECE = 1 << 20
_LOOKED = re.compile(rb"(whole|part) (\d{1,18}) ([0-9a-f]{64})\0\0")

# Arguments: folder, the capsule's name, its temporary name. Prints which of both is there, its size
# and its digest, and two NULs.
LOOK = r"""
cd -- "$1" || exit 97
if [ -f "./$2" ]; then state=whole name=$2
elif [ -f "./$3" ]; then state=part name=$3
else printf '\0\0'; exit 0
fi
size=$(wc -c < "./$name") && digest=$(sha256sum < "./$name") || exit 97
printf '%s %s %s\0\0' "$state" "$((size))" "${digest%% *}"
exit 0
"""

# Arguments: folder, temporary name, how much of it is kept. Input: the rest. What two write at the
# same time would be of no use to either. No `exec`: once nothing holds the output, containerd takes
# the command for ended.
PUT = r"""
cd -- "$1" || exit 97
exec 9>> "./$2" || exit 97
if command -v flock >/dev/null && ! flock -n 9; then
  echo 'somebody else is sending it at this moment' >&2
  exit 97
fi
[ "$3" != 0 ] || : > "./$2"
[ "$(wc -c < "./$2")" -eq "$3" ] || { echo 'it has changed meanwhile' >&2; exit 97; }
printf + && cat >&9
exit
"""


class _There(NamedTuple):
    """What a volume has of a capsule."""

    whole: bool = False
    size: int = 0
    digest: str = ""


def put(place: Place, file: Path, digest: str, size: int, moved: Progress | None = None) -> None:
    """Have a folder in a pod hold a capsule, after what an earlier attempt has left of it.

    Raises:
        DevctlError: It did not arrive as it is here.
    """
    name, part = f"{digest}.tar.gz", f"{INCOMING}{digest}"
    there = _look(place, name, part)
    if there.whole and there.digest == digest:
        return
    kept = 0 if there.whole or _beginning(file, there.size) != there.digest else there.size
    expect(moved, [size - kept])

    def feed(send: Send) -> None:
        with file.open("rb") as opened:
            opened.seek(kept)
            while piece := opened.read(_PIECE):
                send(piece)
                if moved:
                    moved(len(piece))

    # If the connection is lost, what has arrived is kept for the next attempt.
    ask(place, PUT, part, str(kept), feed=feed)
    try:
        ask(place, INSTALL, part, name, digest)
    except ConnectionLostError:
        raise
    except DevctlError:
        with suppress(DevctlError):
            ask(place, DISCARD, part)
        raise


def _look(place: Place, name: str, part: str) -> _There:
    said = ask(place, LOOK, name, part)
    if said == b"\0\0":
        return _There()
    found = _LOOKED.fullmatch(said)
    if not found:
        raise ConnectionLostError(
            f"`{place}`: the answer did not arrive as a whole", "repeat the command"
        )
    return _There(found[1] == b"whole", int(found[2]), found[3].decode())


def _beginning(file: Path, size: int) -> str:
    """The SHA-256 of the first bytes of a file."""
    seen = sha256()
    with file.open("rb") as opened:
        while size and (piece := opened.read(min(size, _PIECE))):
            seen.update(piece)
            size -= len(piece)
    return seen.hexdigest()
