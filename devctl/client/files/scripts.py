r"""What runs in a pod: constant scripts for any `sh`; names are arguments, or NUL-separated.

They ask for what every image has, busybox's too: sh, tar, find, stat, xargs, mv. Those that read
their input print `+` first, as devctl.client.files.transfer asks. What is still on its way when a
command ends may get lost, without a word: those that answer print two NULs at the end. Exit codes:
94 something is in the way, 95 no folder, 96 not there, 97 what standard error says, 98 no such
program.
"""

from __future__ import annotations

# Arguments: path.
KIND = r"""
if [ -d "$1" ]; then printf folder
elif [ -e "$1" ] || [ -L "$1" ]; then printf file
else printf nothing
fi
printf '\0\0'
exit 0
"""

# Arguments: folder, there or not. Prints for how many bytes its volume has room.
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

# Arguments: folder. Input: names. Prints type and mode, size, time and name of each that is there.
# A slash ends a name, which no name has at its end.
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
# row, and behind it a block with a dot alone; ends once its input does. GNU's tar would take a
# backslash in a name for an escape; busybox's knows neither that nor the option.
SEND = r"""
[ -e "$1" ] || exit 96
[ -d "$1" ] || exit 95
cd -- "$1" || exit 97
for program in tar xargs head; do
  command -v $program >/dev/null || { echo $program >&2; exit 98; }
done
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

# Arguments: folder. Input: an archive with what is to be put there below `files`, and below `lists`
# what else is to be done. All of it has to be there before anything is touched. No `exec`: when
# nobody holds the output any more, containerd takes the command for ended.
RECEIVE = r"""
[ ! -e "$1" ] || [ -d "$1" ] || exit 95
mkdir -p -- "$1" && cd -- "$1" || exit 97
for program in tar find mktemp xargs; do
  command -v $program >/dev/null || { echo $program >&2; exit 98; }
done
# What a copy that was cut off has left. One that goes on has something in it from the last hour.
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
# Nothing is put anywhere while something is in the way: a folder of a file, or a file of a folder.
find . ! -type d -exec sh -c '
  for f do [ -L "../../$f" ] || [ ! -d "../../$f" ] || { printf "%s\n" "$f" >&2; exit 94; }; done
' sh {} + && find . -type d -exec sh -c '
  for f do
    [ -d "../../$f" ] || { [ ! -e "../../$f" ] && [ ! -L "../../$f" ]; } ||
      { printf "%s\n" "$f" >&2; exit 94; }
  done
' sh {} + || exit 94
# Many at once: a program started for each file would take most of the time.
# What the inner find is to fill in must not be seen by the outer one.
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
