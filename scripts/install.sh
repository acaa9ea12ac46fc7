#!/bin/sh
# Creates the virtual environment that everything runs from: locked by hash, devctl itself editable.
# usage: install.sh VENV
set -eu

venv=${1%/}

# venv refuses a link, too, but only after the stamp behind it has been removed.
if [ -L "$venv" ]; then
  echo "error: $venv is a symbolic link; remove it to create an environment here, or choose another VENV" >&2
  exit 1
fi

python=$(sh scripts/best_python.sh)
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  echo "error: Python 3.11 or newer is needed, found: $("$python" --version 2>&1 || echo none)" >&2
  exit 1
fi
# Debian ships part of venv in a separate package.
if ! "$python" -c 'import ensurepip' 2>/dev/null; then
  echo "installing python3-venv"
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes python3-venv >/dev/null
fi

rm -f "$venv/installed"
"$python" -m venv "$venv"
pip="$venv/bin/python -m pip --disable-pip-version-check --quiet"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The lock names every package. Resolving again could request a newer one, which has no hash.
locked="--require-hashes --no-deps --requirement"
# uv takes a tenth of pip's time and is locked itself. It does not read pip's configuration, so that an index
# which only pip knows is left to pip.
awk '/^uv==/ { on = 1 } on { print } on && !/\\$/ { exit }' requirements/dev.txt >"$work/uv.txt"
$pip install $locked "$work/uv.txt"
"$venv/bin/uv" pip install --quiet --python "$venv/bin/python" --compile-bytecode $locked requirements/dev.txt ||
  $pip install $locked requirements/dev.txt
$pip install --no-deps --no-build-isolation --editable . --editable images/observer --editable images/operator

# Ansible's collections come from the hashed package, so Galaxy is not needed.
$pip download $locked requirements/collections.txt --dest "$work"
"$venv/bin/python" scripts/install_collections.py "$work"/*.whl requirements.yml .ansible/collections
touch "$venv/installed"
