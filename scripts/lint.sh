#!/bin/sh
# Every check that needs no cluster and runs no code of ours.
# usage: lint.sh VENV
set -eu

venv=$1
PATH="$PWD/$venv/bin:$PATH"
export ANSIBLE_HOME="$PWD/.ansible" ANSIBLE_CONFIG="$PWD/ansible.cfg"

ruff check .
ruff format --check .
mypy
lint-imports
yamllint --strict .
ansible-lint --offline --profile production
