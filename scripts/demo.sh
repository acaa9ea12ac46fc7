#!/bin/sh
# The main job, for now: a DevServer is applied, and the operator answers.
# usage: demo.sh KUBECONFIG
set -eu

export KUBECONFIG=$1
state=$(dirname "$(dirname "$(dirname "$KUBECONFIG")")")
kubectl=$(ls -t "$state"/cache/programs/kubernetes-*/kubectl | head -n 1)

say() { printf '\n$ kubectl %s\n' "$*"; "$kubectl" "$@"; }

say apply --server-side --filename config/samples/namespace.yaml \
  --filename config/samples/devserverflavor-small.yaml --filename config/samples/devserver-small.yaml
say wait devserver/small --namespace dev-alice --for condition=Successful --timeout 60s
say get devservers --all-namespaces

cat <<END

The cluster is real, and the operator has accepted a DevServer. Next:
  export KUBECONFIG=$KUBECONFIG PATH=$(dirname "$kubectl"):\$PATH
  kubectl get nodes,pods --all-namespaces
  make down
END
