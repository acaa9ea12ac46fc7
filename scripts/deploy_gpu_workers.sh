#!/bin/sh
# Brings the GPU workers API into a cluster: its gateway with a database, the agents, and what these must know of each
# other. What is there already is kept, so that it can be called again at any time.
# usage: scripts/deploy_gpu_workers.sh
#   KUBECONFIG  the cluster; without it, the local one, which is brought up
#   REGISTRY    with KUBECONFIG: where the cluster pulls images from, such as registry.example.com/team
#   WITH        with KUBECONFIG: folders of config/gateway to add, such as `cert-manager autoscaling monitoring artifacts`;
#               with `sqlite`, there is no PostgreSQL
#   VENV        default: .venv
set -eu

cd "$(dirname "$0")/.."
venv=${VENV:-.venv}
namespace=imagepod
database=gpu-workers-database certificate=gpu-workers-gateway-tls
key=gpu-workers-signing-key identity=gpu-workers-identity

say() {
  printf '\n== %s\n' "$*"
}

fail() {
  echo "error: $1" >&2
  echo "  fix: $2" >&2
  exit 2
}

# $1: a word; the others: where it is looked for.
among() {
  word=$1
  shift
  case " $* " in
    *" $word "*) return 0 ;;
    *) return 1 ;;
  esac
}

apply() {
  kubectl apply --server-side --force-conflicts --field-manager devctl-workers "$@"
}

# $1: a kind; $2: a name.
missing() {
  [ -z "$(kubectl --namespace "$namespace" get "$1" "$2" --ignore-not-found --output name)" ]
}

make_object() {
  "$venv/bin/python" -m devctl.local.worker_secrets "$1" | kubectl create --filename -
}

install_devctl() {
  [ -x "$venv/bin/python" ] || make --no-print-directory VENV="$venv" "$venv/installed"
}

private_key() {
  kubectl --namespace "$namespace" get secret "$key" --output 'jsonpath={.data.signing\.key}' | base64 --decode
}

# The names of images, and what the registry calls each, are read from standard input.
write_kustomization() {
  folder=$1
  base=$(realpath --relative-to "$folder" config/gateway)
  {
    echo "apiVersion: kustomize.config.k8s.io/v1beta1"
    echo "kind: Kustomization"
    echo "resources:"
    echo "  - $base"
    among sqlite "$with" || echo "  - $base/postgres"
    if [ -n "$with" ]; then
      echo "components:"
      for name in $with; do
        echo "  - $base/$name"
      done
    fi
    echo "images:"
    while read -r name reference; do
      echo "  - {name: localhost/devctl/$name, newName: ${reference%:*}, newTag: ${reference##*:}}"
    done
  } >"$folder/kustomization.yaml"
}

deploy_locally() {
  cluster=${DEVCTL_LOCAL_NAME:-devctl}
  state=${DEVCTL_STATE_DIR:-/var/lib/devctl}
  say "deploy devctl to the local cluster"
  make --no-print-directory VENV="$venv" KUBECONFIG= deploy
  say "add the GPU workers"
  "$venv/bin/devctl" local up --name "$cluster" --with workers
  export KUBECONFIG="$state/clusters/$cluster/kubeconfig"
  # shellcheck disable=SC2012 # the newest; names without spaces
  PATH=$PATH:$(dirname "$(ls -t "$state"/cache/programs/kubernetes-*/kubectl | head -n 1)")
  token="$venv/bin/devctl local token --name $cluster NAME --role user"
}

deploy_elsewhere() {
  [ -n "${REGISTRY:-}" ] ||
    fail "KUBECONFIG names a cluster, and REGISTRY no registry that it can pull from" \
      "set REGISTRY, such as registry.example.com/team; without KUBECONFIG, the local cluster is used"
  command -v kubectl >/dev/null || fail "no kubectl on PATH" "install kubectl"
  for kind in gpuworkerjobs gpuworkernodes; do
    found=$(kubectl get crd "$kind.imagepod.dev" --ignore-not-found --output name)
    [ -n "$found" ] ||
      fail "the cluster does not know $kind.imagepod.dev" "deploy devctl first: \`make deploy\`"
  done
  with=${WITH:-}
  if among artifacts "$with"; then
    found=$(kubectl get storageclass devctl-shared --ignore-not-found --output name)
    [ -n "$found" ] ||
      fail "the cluster has no class \`devctl-shared\` of volumes for many nodes" \
        "make one, or apply config/gateway with an overlay whose claim names another class"
  fi
  install_devctl
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT

  say "build images and push them to $REGISTRY"
  set -- gateway gpu-worker-agent observer
  among sqlite "$with" || set -- "$@" postgres
  "$venv/bin/python" -m devctl.local.push "$@" >"$work/images"
  cat "$work/images"

  say "make what is missing"
  apply --filename config/gateway/namespace.yaml
  if ! among sqlite "$with" && missing secret "$database"; then
    make_object "$database"
  fi
  if ! among cert-manager "$with" && missing secret "$certificate"; then
    make_object "$certificate"
  fi
  # Without an issuer of the cluster's, a key signs tokens.
  if missing configmap "$identity"; then
    if missing secret "$key"; then
      make_object "$key"
    fi
    private_key | make_object "$identity"
  fi

  say "apply config/gateway"
  write_kustomization "$work" <"$work/images"
  apply --kustomize "$work"
  token="kubectl -n $namespace get secret $key -o 'jsonpath={.data.signing\\.key}' | base64 --decode |
      $venv/bin/python -m devctl.local.worker_secrets token NAME user"
}

if [ -n "${KUBECONFIG:-}" ]; then
  deploy_elsewhere
else
  deploy_locally
fi

say "wait until all of it is ready"
for workload in $(kubectl --namespace "$namespace" get statefulset,deployment,daemonset --output name); do
  kubectl --namespace "$namespace" rollout status "$workload" --timeout=300s
done

cat <<END

The GPU workers API is there. Next:
  export KUBECONFIG=$KUBECONFIG
  # agents on nodes outside of the cluster register with it; those inside need none
  kubectl create secret generic imagepod-secrets --from-literal=registration-token=TOKEN --namespace=$namespace
  # http://localhost:8000/gpu-workers/, while this runs
  kubectl port-forward --namespace $namespace deployment/gpu-workers-gateway 8000
  # a token for NAME; or let the gateway accept those of your issuer: docs/workers.md
  TOKEN=\$($token)
  curl -H "Authorization: Bearer \$TOKEN" http://localhost:8000/gpu-workers/nodes/
END
