#!/bin/sh
# Implements `make undeploy`: removes what runs of devctl, so that nothing more happens to servers, runs and caches.
# Kinds, objects, permissions, policies and volumes stay: with a kind, all of its objects would be deleted. `make deploy`
# and the kustomizations of config/cache, config/dra and config/gateway bring back what was removed.
# usage: undeploy.sh KUBECONFIG
set -eu

export KUBECONFIG="$1"
state=$(dirname "$(dirname "$(dirname "$KUBECONFIG")")")
# shellcheck disable=SC2012 # the newest; names without spaces
kubectl=$(command -v kubectl || ls -t "$state"/cache/programs/kubernetes-*/kubectl | head -n 1)

remove() {
  "$kubectl" --namespace "$1" delete --ignore-not-found "$2" "$3"
}

remove devctl-system deployment devctl-operator
remove devctl-system deployment devctl-observer
remove devctl-node-agent daemonset devctl-node-agent
remove canhazgpu-system deployment canhazgpu-controller
remove canhazgpu-system daemonset canhazgpu-nodeagent
remove canhazgpu-system daemonset canhazgpu-kubeletplugin
remove canhazgpu-system daemonset canhazgpu-redis
remove imagepod cronjob gpu-workers-backup
remove imagepod deployment gpu-workers-gateway
remove imagepod deployment gpu-workers-nodes
remove imagepod daemonset imagepod-gpu-worker
remove imagepod statefulset gpu-workers-postgres
echo "kinds, objects, permissions and volumes are still there: \`make deploy\` continues with them"
