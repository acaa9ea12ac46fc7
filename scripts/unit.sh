#!/bin/sh
# The unit tests; with --coverage, minimum coverage of the modules where a mistake costs data or time as well.
# usage: unit.sh VENV [--coverage]
set -eu

venv=$1
# Examples in docstrings are tests as well.
examples=$(grep -rl '>>> ' devctl plugins images playbooks scripts/boards tests/support --include='*.py')

pytest() {
  # shellcheck disable=SC2086 # file names without spaces
  "$venv/bin/pytest" tests/unit $examples --doctest-modules -n auto --dist worksteal --timeout=120 \
    --junitxml=.test-results/unit-0.xml "$@"
}

if [ "${2:-}" != --coverage ]; then
  pytest
  exit
fi

# Branch coverage takes 2.4 times the CPU, so a landing does without it.
data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT
export COVERAGE_FILE="$data/coverage"
pytest --cov --cov-report=
for room in 'plugins/*' 'devctl/agents/*' 'devctl/api/*' 'devctl/capsule/*' 'devctl/client/*' 'devctl/kube/*' 'devctl/oidc/*' 'images/observer/*' 'images/node-agent/*' 'images/cache-agent/*' 'images/dra-plugin/*' 'images/gateway/*' 'images/gpu-worker-agent/*' 'images/inference/*' 'images/operator/*'; do
  echo "$room"
  "$venv/bin/coverage" report --include="$room" --fail-under=90 --skip-covered --format=total
done
