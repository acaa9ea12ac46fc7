#!/bin/sh
# Updates the locked requirement files. They have hashes instead of URLs: no registry is named.
# usage: lock.sh VENV
set -eu

compile() {
  "$venv/bin/uv" pip compile --quiet --upgrade --generate-hashes --no-emit-index-url --no-header "$@"
}

venv=$1
compile --python-version 3.11 --group dev pyproject.toml --output-file requirements/dev.txt
compile --python-version 3.11 --no-deps requirements/go.in --output-file requirements/go.txt
compile --python-version 3.11 --no-deps requirements/collections.in --output-file requirements/collections.txt
compile --python-version 3.13 images/operator/requirements.in --output-file images/operator/requirements.txt
compile --python-version 3.13 images/observer/requirements.in --output-file images/observer/requirements.txt
compile --python-version 3.13 images/gateway/requirements.in --output-file images/gateway/requirements.txt
# Jupyter works without the packages omitted here: see the file.
compile --python-version 3.13 --no-emit-package debugpy --no-emit-package jedi --no-emit-package parso \
  images/devserver/requirements.in --output-file images/devserver/requirements.txt
compile --python-version 3.13 images/cache-agent/requirements.in --output-file images/cache-agent/requirements.txt
# Tests run it with older Pythons as well.
compile --universal --python-version 3.11 images/dra-plugin/requirements.in --output-file images/dra-plugin/requirements.txt
compile --python-version 3.13 images/fake-gpu-plugin/requirements.in --output-file images/fake-gpu-plugin/requirements.txt
compile --python-version 3.13 images/fake-gpu-plugin/requirements-build.in --output-file images/fake-gpu-plugin/requirements-build.txt
# Less than vLLM asks for: overrides.txt says what is left out.
compile --python-version 3.13 --override images/vllm-cpu/overrides.txt \
  images/vllm-cpu/requirements.in --output-file images/vllm-cpu/requirements.txt
