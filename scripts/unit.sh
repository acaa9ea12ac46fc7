#!/bin/sh
# The unit tests, with minimum coverage of the modules where a mistake costs data or time.
# usage: unit.sh VENV
set -eu

venv=$1
data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT
export COVERAGE_FILE="$data/coverage"

# Examples in docstrings are tests as well.
examples=$(grep -rl '>>> ' devctl plugins images playbooks scripts/boards tests/support --include='*.py')
# shellcheck disable=SC2086 # file names without spaces
"$venv/bin/pytest" tests/unit $examples --doctest-modules -n auto --dist worksteal --cov --cov-report= \
  --junitxml=.test-results/unit-0.xml
for room in 'plugins/*' 'devctl/agents/*' 'devctl/api/*' 'devctl/capsule/*' 'devctl/client/*' 'devctl/kube/*' 'devctl/oidc/*' 'images/observer/*' 'images/node-agent/*' 'images/cache-agent/*'; do
  echo "$room"
  "$venv/bin/coverage" report --include="$room" --fail-under=90 --skip-covered --format=total
done
