#!/bin/sh
# Implements `make example`, `logs`, `status`, `artifacts` and `clean` for the sample job.
# usage: jobs.sh VERB VENV KUBECONFIG
set -eu

verb=$1 egpu=$2/bin/egpu
export KUBECONFIG=$3
state=$(dirname "$(dirname "$(dirname "$KUBECONFIG")")")
kubectl=$(command -v kubectl || ls -t "$state"/cache/programs/kubernetes-*/kubectl | head -n 1)
sample=config/samples/ephemeralaccelerationjob.yaml
job=my-inference-job

case $verb in
  example)
    "$kubectl" apply --server-side --filename "$sample"
    cat <<END
It waits two minutes for its image and for weights. In another shell:
  egpu copy-file $job URL --target-path /artifacts/input.jpg
  egpu copy-file $job URL --target-path /artifacts/resnet50.safetensors
  egpu copy-file $job URL --target-path /artifacts/resnet50-labels.json
END
    exec "$egpu" watch "$job" --namespace default
    ;;
  logs)
    for part in operator observer; do
      "$kubectl" logs --namespace devctl-system "deployment/devctl-$part" --tail=50
    done
    pods='jsonpath={range .items[*]}{.metadata.namespace} {.metadata.name}{"\n"}{end}'
    "$kubectl" get pods --all-namespaces --selector app=gpu-job --output "$pods" |
      while read -r namespace pod; do
        # A pod that has not started has no logs; kubectl says so.
        "$kubectl" logs --namespace "$namespace" "$pod" --tail=50 --prefix || true
      done
    ;;
  status)
    exec "$egpu" list --all-namespaces
    ;;
  artifacts)
    cat <<END
A job's files are kept on its volume for its retention period, even if the job is deleted:
  egpu get $job                        # where its result is, and until when it is kept
  egpu artifacts $job                  # the files on the volume
  egpu artifacts $job --to results     # fetch it
  egpu debug $job                      # a shell on the volume, at /mnt
END
    ;;
  clean)
    exec "$egpu" delete "$job" --delete-pvc --namespace default
    ;;
  *)
    echo "error: jobs.sh has no verb \`$verb\`" >&2
    exit 2
    ;;
esac
