#!/bin/sh
# The unit tests, and that they reach enough of the rooms where a mistake costs data or time.
# usage: unit.sh VENV
set -eu

venv=$1
data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT
export COVERAGE_FILE="$data/coverage"

"$venv/bin/pytest" tests/unit -n auto --dist worksteal --cov --cov-report=
for room in 'plugins/*' 'devctl/api/*' 'devctl/client/*' 'devctl/kube/*' 'images/observer/*'; do
  echo "$room"
  "$venv/bin/coverage" report --include="$room" --fail-under=90 --skip-covered --format=total
done
