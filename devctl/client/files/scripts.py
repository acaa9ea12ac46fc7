r"""The scripts that run in a pod, constant and for any `sh`, and what their failures mean.

Names are arguments, or NUL-separated input. The scripts need what every image has, busybox's too:
sh, tar, find, stat, xargs, mv. Those that read input print `+` first, as
devctl.client.files.transfer asks. Output that is still on its way when a command ends may get lost
silently: scripts that answer print two NULs at the end. Those that carry files touch
/run/devctl/used, by which the node's agent sees that somebody is there. Exit codes: 94 something is
in the way, 95 not a folder, 96 does not exist, 97 as standard error says, 98 a program is missing.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from devctl.errors import DeniedError, DevctlError, NotFoundError, UsageError
from devctl.text import readable

if TYPE_CHECKING:
    from devctl.client.files.remote import Place

HOME = "/home/dev"
_IN_THE_WAY, _NO_FOLDER, _NOT_THERE, _NO_PROGRAM, _NOT_FOUND = 94, 95, 96, 98, 127
_TAR = re.compile(r"^(?:busybox )?(?:tar|mv|rm|mkdir|find|mktemp|cat|sh|-?sh: \d+): ")
_TEMPLATE = re.compile(r"failed to create directory via template .{1,4200}?: ")
_NOISE = ("Exiting with failure", "Removing leading", "Error is not recoverable", "xargs:")

# Arguments: path.
KIND = r"""
if [ -d "$1" ]; then printf folder
elif [ -e "$1" ] || [ -L "$1" ]; then printf file
else printf nothing
fi
printf '\0\0'
exit 0
"""

# Arguments: folder, which need not exist. Prints how many bytes are free on its volume.
ROOM = r"""
at=$1
until [ -d "$at" ]; do at=$(dirname -- "$at"); done
set -- $(stat -f -c '%a %S' -- "$at" 2>/dev/null)
[ -z "$2" ] || printf %s "$(($1 * $2))"
printf '\0\0'
exit 0
"""

# Arguments: folder. Prints the names of files, links and empty folders below it.
FIND = r"""
[ -e "$1" ] || exit 96
[ -d "$1" ] || exit 95
cd -- "$1" || exit 97
command -v find >/dev/null || { echo find >&2; exit 98; }
find . \( -name '.devctl-incoming.*' -o -name lost+found \) -prune \
  -o \( -type f -o -type l -o -type d \) -print0
printf '\0\0'
exit 0
"""

# Arguments: folder. Input: names. Prints type and mode, size, time and name of each that exists.
# A slash ends each name: no name ends with one itself.
LOOK = r"""
command -v stat >/dev/null || { echo stat >&2; exit 98; }
command -v xargs >/dev/null || { echo xargs >&2; exit 98; }
[ -d "$1" ] || { printf +; cat >/dev/null; printf '\0\0'; exit 0; }
cd -- "$1" || exit 97
printf + || exit 97
xargs -0 -r stat -c '%f %s %Y %n/' -- 2>/dev/null
printf '\0\0'
exit 0
"""

# Arguments: folder. Input: names. Prints a line for each: its digest, or `?`.
DIGESTS = r"""
cd -- "$1" || exit 97
command -v xargs >/dev/null || { echo xargs >&2; exit 98; }
printf + || exit 97
xargs -0 -r sh -c 'for f do sha256sum 2>/dev/null < "$f" || echo "?"; done' sh 2>/dev/null
printf '\0\0'
exit 0
"""

# Arguments: folder, bytes of all names. Input: names. Prints an archive of them, or several in a
# row, followed by a block that holds a single dot; ends once its input does. GNU tar would take a
# backslash in a name for an escape; busybox's tar knows neither escapes nor the option.
SEND = r"""
[ -e "$1" ] || exit 96
[ -d "$1" ] || exit 95
cd -- "$1" || exit 97
for program in tar xargs head; do
  command -v $program >/dev/null || { echo $program >&2; exit 98; }
done
true 2>/dev/null >/run/devctl/used
printf + || exit 97
LC_ALL=C; export LC_ALL
plain=
tar --no-unquote --version >/dev/null 2>&1 && plain=--no-unquote
head -c "$2" | xargs -0 -r tar $plain -cf - --
code=$?
printf '%-512s' .
cat >/dev/null
exit $code
"""

# Arguments: folder. Input: an archive with the files for it below `files`, and what else is to be
# done below `lists`. All of it has to arrive before anything is touched. No `exec`: once nobody
# holds its output, containerd takes a command for ended.
RECEIVE = r"""
[ ! -e "$1" ] || [ -d "$1" ] || exit 95
mkdir -p -- "$1" && cd -- "$1" || exit 97
for program in tar find mktemp xargs; do
  command -v $program >/dev/null || { echo $program >&2; exit 98; }
done
true 2>/dev/null >/run/devctl/used
# What an interrupted copy has left. An active one was written to within the last hour.
for old in ./.devctl-incoming.*; do
  [ -O "$old" ] && [ ! -L "$old" ] || continue
  recent=$(find "$old" -mmin -60 2>/dev/null) && [ -z "$recent" ] && rm -rf -- "$old"
done
top=$PWD
incoming=$(mktemp -d "$top/.devctl-incoming.XXXXXX") || exit 97
trap 'rm -rf -- "$incoming"' EXIT
trap 'exit 97' HUP INT TERM PIPE
mkdir "$incoming/files" && printf + || exit 97
(cd "$incoming" && LC_ALL=C tar -xof -) || exit 97
[ -e "$incoming/lists/broken" ] || { echo 'it did not arrive as a whole' >&2; exit 97; }
drop() {
  [ -s "$incoming/lists/$1" ] || return 0
  (cd "$2" && xargs -0 -r $3 --) < "$incoming/lists/$1"
}
drop broken "$incoming/files" 'rm -f' || exit 97
drop delete . 'rm -f' || exit 97
drop rmdir . rmdir 2>/dev/null
cd "$incoming/files" || exit 97
# Nothing is moved while something is in the way: a folder where a file goes, or the reverse.
find . ! -type d -exec sh -c '
  for f do [ -L "../../$f" ] || [ ! -d "../../$f" ] || { printf "%s\n" "$f" >&2; exit 94; }; done
' sh {} + && find . -type d -exec sh -c '
  for f do
    [ -d "../../$f" ] || { [ ! -e "../../$f" ] && [ ! -L "../../$f" ]; } ||
      { printf "%s\n" "$f" >&2; exit 94; }
  done
' sh {} + || exit 94
# Many files at once: one process for each would take most of the time.
# The placeholder of the inner find must be hidden from the outer one.
move='to=$1; shift; exec mv -f -- "$@" "$to/"' them='{}'
export top move them
find . -type d -exec sh -c '
  for d do
    [ -d "$top/$d" ] || mkdir -p -- "$top/$d" || exit 1
    find "$d/." ! -name . -prune ! -type d -exec sh -c "$move" sh "$top/$d" "$them" + || exit 1
  done
' sh {} + || exit 97
cd "$top"
exit 0
"""


def check(place: Place, code: int, errors: bytes) -> None:
    """Raise the DevctlError that tells why a script has failed, if it has."""
    if code == 0:
        return
    said = lines(errors)
    if code == _IN_THE_WAY:
        name = readable(os.fsdecode(errors).removesuffix("\n").removeprefix("./"))
        raise DevctlError(
            f"`{place}`: `{name}` is a folder there and a file here, or vice versa; nothing was"
            " changed",
            "rename one of them",
        )
    if code == _NO_FOLDER:
        raise UsageError(f"`{place}` is not a folder", "choose a folder, new or existing")
    if code == _NOT_THERE:
        raise NotFoundError(f"there is no `{place}`", place.advice.look)
    if code in {_NO_PROGRAM, _NOT_FOUND}:
        program = said[-1] if code == _NO_PROGRAM and said else "tar"
        raise DevctlError(f"`{place}`: its image has no `{program[:20]}`", place.advice.no_tar)
    raise failure(place, said)


def failure(place: Place, said: list[str]) -> DevctlError:
    """The error for a failure in a pod, judged by the messages of its programs."""
    for line in said:
        what = line.rpartition(": ")[2]
        low = line.lower()
        if "wrote only" in low:
            # GNU tar says no more than this if a part of its last piece still fits.
            what, low = "there is room for a part only", "no space left"
        if "no space left" in low or "quota exceeded" in low:
            return full(place, what)
        if "read-only file" in low:
            return DevctlError(f"`{place}`: {what}; nothing was changed", place.advice.read_only)
        if "permission denied" in low or "not permitted" in low:
            return DeniedError(f"`{place}`: {line}", place.advice.denied)
    why = said[-1] if said else "the command failed without a message"
    return DevctlError(f"`{place}`: {why}", place.advice.look)


def full(place: Place, what: str) -> DevctlError:
    """The error for a volume without room for what is sent to it."""
    if f"{place.path}/".startswith(f"{HOME}/"):
        volume, fix = "the home", "raise spec.persistentHomeSize"
    else:
        volume, fix = "the volume", f"copy to a place below {HOME}"
    return DevctlError(
        f"`{place}`: {volume} is full: {what}; nothing was changed",
        place.advice.no_room or f"delete files there, or {fix}",
    )


def lines(errors: bytes) -> list[str]:
    """The messages of programs, without their names and without noise."""
    found = []
    for line in os.fsdecode(errors).splitlines():
        text = _TEMPLATE.sub("", _TAR.sub("", line.strip()))
        if text and not any(noise in text for noise in _NOISE):
            found.append(readable(text).replace(": Cannot open:", ":"))
    return found
