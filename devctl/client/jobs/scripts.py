"""What runs in a loader pod: constant scripts; names reach them as arguments or NUL-separated.

Those that read their input print `+` first, as devctl.client.files.transfer asks.
"""

from __future__ import annotations

# Arguments: volume. Input: names of folders. Prints those that are links out of it, and two NULs.
# What goes through such a link is lost with the pod that put it there, and no job would find it.
ASTRAY = r"""
cd -- "$1" || exit 97
top=$(pwd -P)
export top
printf + || exit 97
xargs -0 -r sh -c '
  for f do
    [ -L "$f" ] || continue
    case $(cd -P -- "$f" 2>/dev/null && pwd -P)/ in
      "$top"/*) ;;
      *) printf "%s\0" "$f" ;;
    esac
  done
' sh || exit 97
printf '\0\0'
exit 0
"""

# Arguments: folder. Input: names of files. Prints the digest of each, in order; of none that lies
# elsewhere, or that a link has taken the place of.
DIGESTS = r"""
cd -- "$1" || exit 97
top=$(pwd -P)
export top
printf + && exec xargs -0 sh -c '
  seen=
  for f do
    [ ! -L "$f" ] || { echo "a link has taken the place of a file" >&2; exit 1; }
    [ "${f%/*}" != "$seen" ] || continue
    seen=${f%/*}
    case $(cd -P -- "$seen" && pwd -P)/ in
      "$top"/*) ;;
      *) echo "a link there leads out of the volume" >&2; exit 1 ;;
    esac
  done
  exec sha256sum -- "$@"
' sh
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
