#!/bin/sh
# The main job, for now with kubectl: a DevServer is applied, becomes ready, and is used.
# usage: demo.sh KUBECONFIG
set -eu

export KUBECONFIG=$1
state=$(dirname "$(dirname "$(dirname "$KUBECONFIG")")")
kubectl=$(ls -t "$state"/cache/programs/kubernetes-*/kubectl | head -n 1)
sums='import torch; print("torch", torch.__version__, "says", torch.arange(4.0).sum().item())'

say() { printf '\n$ kubectl %s\n' "$*"; "$kubectl" "$@"; }

say apply --server-side --filename config/samples/namespace.yaml \
  --filename config/samples/devserverflavor-small.yaml --filename config/samples/devserver-small.yaml
say wait devserver/small --namespace dev-alice --for condition=Ready --timeout 120s
say exec small-0 --namespace dev-alice -- python -c "$sums"
say get devservers,pods,persistentvolumeclaims --namespace dev-alice

cat <<END

The cluster is real, and alice's server is running. Next:
  export KUBECONFIG=$KUBECONFIG PATH=$(dirname "$kubectl"):\$PATH
  kubectl exec -it small-0 --namespace dev-alice -- bash
  kubectl patch devserver small --namespace dev-alice --type merge --patch '{"spec":{"stopped":true}}'
  kubectl apply --filename config/samples/devserver-distributed.yaml
  make down
END
