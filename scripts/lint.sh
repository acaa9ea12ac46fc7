#!/bin/sh
# Every check that needs no cluster and does not run our code.
# usage: lint.sh VENV
set -eu

venv=$1
PATH="$(cd "$venv/bin" && pwd):$PATH"
export ANSIBLE_HOME="$PWD/.ansible" ANSIBLE_CONFIG="$PWD/ansible.cfg"

# Type checking takes as long as everything else: it runs in the background, and is reported last.
types=$(mktemp)
mypy >"$types" 2>&1 &
mypy=$!
trap 'kill "$mypy" 2>/dev/null || :; rm -f "$types"' EXIT

ruff check .
ruff format --check .
PYTHONPATH=plugins:images/inference:images/node-agent:images/cache-agent:images/dra-plugin:images/fake-gpu-plugin:images/gateway:images/gpu-worker-agent lint-imports
yamllint --strict .
ansible-lint --offline --profile production

found=0
wait "$mypy" || found=$?
cat "$types"
exit "$found"
