#!/bin/sh
# The end-to-end tests, on a cluster that is up for all of them and removed in the end. Mostly they
# wait for pods, so several processes run them at once; alone runs only what others would notice.
# usage: e2e.sh VENV
set -u

venv=$1
cluster=${DEVCTL_E2E_CLUSTER:-e2e}
keep=${DEVCTL_E2E_KEEP:-}
failed=0
DEVCTL_E2E_RUN=$(mktemp -d) # what the processes of all parts have done is noted here
export DEVCTL_E2E_RUN DEVCTL_E2E_KEEP=1
trap 'rm -rf "$DEVCTL_E2E_RUN"' EXIT

reset() {
  "$venv/bin/devctl" local reset --name "$cluster" --confirm "$cluster" || failed=1
}

tests() {
  "$venv/bin/pytest" tests/e2e --durations=40 --durations-min=5 "$@" || failed=1
}

if [ -z "$keep" ]; then # what a run that was killed has left is not of this one
  "$venv/bin/devctl" local status --name "$cluster" >/dev/null 2>&1
  [ $? -eq 3 ] || reset
fi
echo "side by side, with the operator"
tests -n 2 --dist loadscope -m "not operator_away and not exclusive"
echo "side by side, while the operator is away"
tests -n 2 --dist loadscope -m "operator_away and not exclusive"
echo "one by one"
tests -m exclusive

[ -n "$keep" ] || reset
exit "$failed"
