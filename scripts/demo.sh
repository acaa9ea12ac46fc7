#!/bin/sh
# The main use case: a distributed server trains a model on two nodes; a job uses the model.
# usage: demo.sh KUBECONFIG
set -eu

export KUBECONFIG="$1" DEVCTL_NAMESPACE=dev-alice
cd "$(dirname "$0")/.."
state=$(dirname "$(dirname "$(dirname "$KUBECONFIG")")")
kubectl=$(ls -t "$state"/cache/programs/kubernetes-*/kubectl | head -n 1)
programs=$PWD/.venv/bin
model=$(mktemp -d)/checkpoints

say() {
  printf '\n$ %s\n' "$*"
  program=$1
  shift
  "$programs/$program" "$@"
}

# An administrator does this once: a namespace, and a flavor large enough for the training.
"$kubectl" apply --server-side --filename config/samples/namespace.yaml \
  --filename config/samples/devserverflavor-training.yaml

if "$programs/devctl" list -o name | grep -qx devserver/demo; then
  say devctl start demo
else
  say devctl create demo --flavor cpu-training --distributed --replicas 2 --backend gloo \
    --home-size 1Gi --wait
fi
say devctl run --workdir examples demo examples/train_digits.py --epochs 10
say devctl cp demo:checkpoints "$model"
ls -l "$model"
say devctl list

# A digit that the model has not been trained on; the file name says which one it is.
image=$(basename "$model"/held-out-*.png)
digit=${image#held-out-}
"$programs/egpu" delete digit >/dev/null 2>&1 || true
say egpu create digit --project-dir "$model" --model mobilenet_v3_small --gpu 1 \
  --input-path "/artifacts/$image" --weights-path /artifacts/digits.safetensors --wait
say egpu artifacts digit --to "$model"
cat "$model/output.json"
read_as=$("$programs/python" -c 'import json, sys; print(json.load(sys.stdin)["top5"][0]["label"])' \
  < "$model/output.json")
[ "$read_as" = "${digit%.png}" ] || {
  echo "error: the job read $image as $read_as" >&2
  exit 1
}

cat <<END

Two nodes have trained a model, and a job has read a ${digit%.png} with it. Next:
  source .venv/bin/activate
  export KUBECONFIG=$KUBECONFIG DEVCTL_NAMESPACE=dev-alice
  devctl ssh demo              # a shell on the first replica
  devctl monitor demo          # resource usage of both replicas
  devctl delete demo           # its files are kept: devctl homes list
  make down
END
