"""What runs in a loader pod: constant scripts; names reach them as arguments or NUL-separated.

Those that read their input print `+` first, as devctl.client.files.transfer asks.
"""

from __future__ import annotations

# Arguments: folder. Input: names of files. Prints the digest of each, in order.
DIGESTS = r"""
cd -- "$1" || exit 97
printf + && exec xargs -0 sha256sum --
"""

# Arguments: folder. Prints the names of files and links below it, and two NULs.
LIST = r"""
cd -- "$1" || exit 97
find . \( -name lost+found -o -name '.devctl-incoming.*' \) -prune \
  -o \( -type f -o -type l \) -print0 2>/dev/null
printf '\0\0'
exit 0
"""

# Arguments: volume, a folder of it, name. Input: what the file is to hold, which lies under that
# name for now. A link that a job has left must not lead elsewhere: it would be lost with the pod.
# No `exec`: when nobody holds the output any more, containerd takes the command for ended.
PUT = r"""
cd -- "$1" || exit 97
top=$(pwd -P)
[ ! -e "./$2" ] || [ -d "./$2" ] || exit 95
mkdir -p -- "./$2" && cd -- "./$2" || exit 97
case $(pwd -P)/ in
  "$top"/*) ;;
  *) echo 'a link there leads out of the volume' >&2; exit 97 ;;
esac
printf + && cat > "./$3"
exit
"""

# Arguments: folder, name for now, name, digest. Takes a file as what it is to be, if it is whole.
INSTALL = r"""
cd -- "$1" || exit 97
[ ! -d "./$3" ] || { echo 'Is a directory' >&2; exit 97; }
found=$(sha256sum < "./$2") || exit 97
[ "${found%% *}" = "$4" ] || { echo 'it did not arrive as it was sent' >&2; exit 97; }
exec mv -f -- "./$2" "./$3"
"""

# Arguments: folder, name for now.
DISCARD = r"""
cd -- "$1" && exec rm -f -- "./$2"
"""
