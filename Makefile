# Thin on purpose: every target is one command that can also be typed.
.DEFAULT_GOAL := help
.PHONY: help up down demo deploy test test-unit test-e2e molecule lint bench bench-local bench-devservers lock

VENV := .venv
DEVCTL := $(VENV)/bin/devctl
STATE := $(or $(DEVCTL_STATE_DIR),/var/lib/devctl)
# With KUBECONFIG set, `make deploy` uses that cluster; otherwise the local one.
LOCAL_KUBECONFIG := $(STATE)/clusters/devctl/kubeconfig

help: ## Show this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## (.*)/make \1|\2/' | column -t -s '|'

$(VENV)/installed: requirements/dev.txt requirements/collections.txt requirements.yml pyproject.toml
	sh scripts/install.sh $(VENV)

up: $(VENV)/installed ## Bring the local cluster up, or heal it
	$(DEVCTL) local up

down: $(VENV)/installed ## Take the local cluster down; its data stays
	$(DEVCTL) local down

demo: ## From nothing to a DevServer that runs PyTorch
	$(MAKE) --no-print-directory deploy KUBECONFIG=
	$(DEVCTL) local load devserver
	sh scripts/demo.sh $(LOCAL_KUBECONFIG)

deploy: $(VENV)/installed ## Deploy the operator: to KUBECONFIG's cluster, or to the local one
	$(VENV)/bin/python -m devctl.local.deploy

test: lint test-unit test-e2e ## Everything that must pass

test-unit: $(VENV)/installed ## No cluster, no sockets, seconds
	$(VENV)/bin/pytest tests/unit

test-e2e: $(VENV)/installed ## Real pods on a real cluster; brings one up
	$(VENV)/bin/pytest tests/e2e

molecule: $(VENV)/installed ## Each behaviour of the role, against KUBECONFIG's cluster, whose operator is away
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" molecule test --all

lint: $(VENV)/installed ## Style, types, layers, YAML and Ansible
	sh scripts/lint.sh $(VENV)

bench: bench-local bench-devservers ## Every figure of docs/performance.md

bench-local: $(VENV)/installed ## How long `up` takes: cold, cached, already up
	$(VENV)/bin/python tests/bench/local_up.py

bench-devservers: $(VENV)/installed ## A hundred DevServers at once, on the local cluster with the operator deployed
	KUBECONFIG=$(LOCAL_KUBECONFIG) $(VENV)/bin/python tests/bench/devservers.py localhost/devctl/devserver:0.1.0

lock: $(VENV)/installed ## Renew the locked requirement files
	sh scripts/lock.sh $(VENV)
