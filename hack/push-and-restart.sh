#!/bin/sh
# After a change: builds the command and all images, takes them to the cluster, applies kinds and permissions, and
# restarts what runs in canhazgpu-system.
# usage: hack/push-and-restart.sh
#   KUBECONFIG  the cluster; without it, the local one, into which images are loaded
#   REGISTRY    such as registry.example.com/team: where that cluster pulls its images from; see `make push`
set -eu

cd "$(dirname "$0")/.."
namespace=canhazgpu-system
images=$(mktemp)
trap 'rm -f "$images"' EXIT

say() {
  printf '\n== %s\n' "$*"
}

if [ -n "${KUBECONFIG:-}" ] && [ -z "${REGISTRY:-}" ]; then
  echo "error: KUBECONFIG names a cluster, and REGISTRY no registry that it can pull from" >&2
  echo "fix: set REGISTRY, such as registry.example.com/team; without KUBECONFIG, the local cluster is used" >&2
  exit 2
fi

say "build k8shazgpu"
make --no-print-directory build-k8s

apply() {
  kubectl apply --server-side --force-conflicts --field-manager devctl-push "$@"
}

if [ -n "${KUBECONFIG:-}" ]; then
  say "build images and push them to $REGISTRY"
  # Lines of a name and what the registry calls it.
  make --no-print-directory push >"$images"
  cat "$images"
  say "apply kinds and permissions"
  apply --kustomize config/crd
  apply --kustomize config/rbac
else
  say "build images, load them into the local cluster, and apply kinds and permissions"
  make --no-print-directory deploy
  state=${DEVCTL_STATE_DIR:-/var/lib/devctl}
  export KUBECONFIG="$state/clusters/${DEVCTL_LOCAL_NAME:-devctl}/kubeconfig"
  # shellcheck disable=SC2012 # the newest; names without spaces
  PATH=$PATH:$(dirname "$(ls -t "$state"/cache/programs/kubernetes-*/kubectl | head -n 1)")
fi

# $1: the workload; $2: the folder of config/ that it is part of; $3: its image, by the name that `make push` prints.
restart() {
  if [ -z "$(kubectl --namespace "$namespace" get "$1" --ignore-not-found --output name)" ]; then
    echo "$1 is not installed in $namespace"
    return
  fi
  reference=$(sed -n "s|^$3 ||p" "$images")
  if [ -n "$reference" ]; then
    apply --filename "config/$2/role.yaml" --filename "config/$2/policy.yaml"
    kubectl --namespace "$namespace" set image "$1" "*=$reference"
  fi
  kubectl --namespace "$namespace" rollout restart "$1"
  kubectl --namespace "$namespace" rollout status "$1" --timeout=300s
}

say "restart"
restart deployment/canhazgpu-controller cache observer
restart daemonset/canhazgpu-nodeagent cache cache-agent
restart daemonset/canhazgpu-kubeletplugin dra dra-plugin
