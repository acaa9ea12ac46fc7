#!/bin/sh
# Runs a program for a node: in the node's control groups, and dead as soon as the supervisor is,
# so that a new supervisor never meets a second containerd or kubelet. Pods are not touched.
#
# usage: node-exec.sh CGROUP_PROCS... -- PROGRAM...
set -eu

while [ "$1" != -- ]; do
  echo $$ >"$1"
  shift
done
shift
exec setpriv --pdeathsig KILL "$@"
