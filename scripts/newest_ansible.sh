#!/bin/sh
# Runs the warm runner's tests with the newest ansible-core for a Python version, in a temporary
# environment.
# usage: newest_ansible.sh VENV PYTHON
set -eu

venv=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$2" -m venv "$folder/venv"
sed '/^ansible-core/s/.*/ansible-core/' images/operator/requirements.in > "$folder/requirements.in"
"$folder/venv/bin/pip" install --quiet --only-binary :all: --requirement "$folder/requirements.in"
"$folder/venv/bin/ansible" --version | head -n 1
DEVCTL_OPERATOR_PYTHON="$folder/venv/bin/python" "$venv/bin/pytest" tests/plane/test_runner.py
