#!/bin/sh
# Takes the database of the GPU workers API back to a backup, or makes one now. While it restores, the API is away; jobs
# go on. See docs/workers.md.
# usage: scripts/restore_gpu_workers.sh BACKUP    such as gateway-20260501T031700Z.dump
#        scripts/restore_gpu_workers.sh now       makes a backup, and changes nothing
#   KUBECONFIG  the cluster
set -eu

if [ $# -ne 1 ] || [ -z "$1" ]; then
  echo "error: no backup is named" >&2
  echo "  fix: name one, or \`now\` to make one" >&2
  exit 2
fi

in_namespace() {
  kubectl --namespace imagepod "$@"
}

# $1: the job's name; $2: the backup to restore, or nothing.
run() {
  in_namespace create job "$1" --from=cronjob/gpu-workers-backup --dry-run=client --output=json |
    in_namespace set env --local --filename=- "RESTORE=$2" --output=json |
    in_namespace create --filename=- >/dev/null
  while ended=$(in_namespace get job "$1" --output 'jsonpath={.status.succeeded}{.status.conditions[?(@.type=="Failed")].type}') &&
    [ -z "$ended" ]; do
    sleep 1
  done
  in_namespace logs "job/$1"
  in_namespace delete job "$1" --wait=false >/dev/null
  [ "$ended" = 1 ]
}

name="gpu-workers-$(date -u +%Y%m%d%H%M%S)"
if [ "$1" = now ]; then
  run "$name" ""
  exit
fi

replicas=$(in_namespace get deployment gpu-workers-gateway --output 'jsonpath={.spec.replicas}')
in_namespace scale deployment gpu-workers-gateway --replicas=0
trap 'in_namespace scale deployment gpu-workers-gateway --replicas="$replicas"' EXIT
in_namespace wait pod --for=delete --timeout=120s \
  --selector app.kubernetes.io/name=gpu-workers,app.kubernetes.io/component=gateway
run "$name" "$1"
