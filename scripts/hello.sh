#!/bin/sh
# Implements `make hello`: a run on one GPU by claim that says what it was given, and goes again.
# usage: hello.sh VENV KUBECONFIG [IMAGE]; the image needs a shell. The default is on every node of a local cluster.
set -eu

k8shazgpu=$1/bin/k8shazgpu
export KUBECONFIG="$2"
image=${3:-localhost/devctl/base:trixie}
run=hello-world

cleanup() {
  "$k8shazgpu" cleanup --name "$run" --namespace default
}

trap cleanup EXIT
# The program's exit code is this script's.
# shellcheck disable=SC2016 # the pod expands it
"$k8shazgpu" vllm run --name "$run" --namespace default --image "$image" --port 0 --skip-cache-check --follow -- \
  sh -c 'echo "hello from $(hostname), which has GPU ${CANHAZGPU_DEVICES:?no GPU}"'
