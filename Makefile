# Deliberately thin: every target is one command that can also be typed.
.DEFAULT_GOAL := help
.PHONY: help up down demo build load docker-build run deploy install cli example logs status artifacts clean
.PHONY: build-k8s build-all build-controller build-nodeagent build-kubeletplugin docker push undeploy dev-setup hello
.PHONY: test-short test-integration test-coverage
.PHONY: new-kind wheel docs pictures manifests metrics boards rules api
.PHONY: test test-deep begin test-one test-unit test-postgres test-release test-plane test-pods test-host test-molecule test-faults test-newest-ansible test-gpu test-vllm molecule lint record bench bench-local bench-devservers bench-jobs bench-commands bench-many bench-releases bench-queues bench-node-agent bench-savings bench-gpu-workloads bench-vllm bench-cache lock bench-gateway

# Programs compile their modules again at every start where this is set, which takes most of a command's time.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
DEVCTL := $(VENV)/bin/devctl
STATE := $(or $(DEVCTL_STATE_DIR),/var/lib/devctl)
TIERS := PYTHONPATH=tests $(VENV)/bin/python -m support.tiers
# All images that run in any cluster.
IMAGES := operator observer node-agent cache-agent dra-plugin redis
# With KUBECONFIG set, `make deploy` uses that cluster; otherwise the local one.
LOCAL_KUBECONFIG := $(STATE)/clusters/devctl/kubeconfig

help: ## Show this list
	@grep -hE '^[a-z0-9 -]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9 -]+):.*## (.*)/make \1|\2/' | column -t -s '|'

$(VENV)/installed: requirements/dev.txt requirements/collections.txt requirements.yml pyproject.toml
	sh scripts/install.sh $(VENV)

up: $(VENV)/installed ## Bring the local cluster up, or repair it
	$(DEVCTL) local up

down: $(VENV)/installed ## Take the local cluster down; its data is kept
	$(DEVCTL) local down

demo: $(VENV)/installed ## From scratch, with queues, to a training on two nodes and a job that uses its model
	$(DEVCTL) local up --with kueue
	$(MAKE) --no-print-directory deploy KUBECONFIG=
	$(MAKE) --no-print-directory load
	sh scripts/demo.sh $(LOCAL_KUBECONFIG)

build load: $(VENV)/installed ## Load the images of servers and jobs into the local cluster, building them if necessary
	$(DEVCTL) local load devserver
	$(DEVCTL) local load inference

docker-build: $(VENV)/installed ## Build the images of operator, observer and node agent, and print the archives to `docker load`
	$(VENV)/bin/python -m devctl.local.archives

build-k8s: cli ## The command k8shazgpu, in $(VENV)/bin
	@$(VENV)/bin/k8shazgpu --version

build-all: build-k8s docker ## The command and all images

build-controller: $(VENV)/installed ## The image of canhazgpu-controller, which is the observer's
	$(VENV)/bin/python -m devctl.local.archives observer

build-nodeagent: $(VENV)/installed ## The image of canhazgpu-nodeagent
	$(VENV)/bin/python -m devctl.local.archives cache-agent

build-kubeletplugin: $(VENV)/installed ## The image of canhazgpu-kubeletplugin
	$(VENV)/bin/python -m devctl.local.archives dra-plugin

docker: $(VENV)/installed ## Build the images of all that runs in any cluster, and print the archives to `docker load`
	$(VENV)/bin/python -m devctl.local.archives $(IMAGES)

push: $(VENV)/installed ## Push these images: make push REGISTRY=registry.example.com/team [TLS_VERIFY=false]
	@$(VENV)/bin/python -m devctl.local.push $(IMAGES)

run: $(VENV)/installed ## Run the observer on KUBECONFIG's cluster: scale the one in the cluster to 0 first
	PYTHONPATH=images/observer $(VENV)/bin/python -m devctl_observer

deploy: $(VENV)/installed ## Deploy the operator: to KUBECONFIG's cluster, or to the local one
	$(VENV)/bin/python -m devctl.local.deploy

undeploy: ## Remove what runs of devctl; kinds, objects, permissions and volumes stay
	sh scripts/undeploy.sh $(or $(KUBECONFIG),$(LOCAL_KUBECONFIG))

install: deploy ## Same as deploy

cli: $(VENV)/installed ## Install devctl, egpu and k8shazgpu into $(VENV)

dev-setup: $(VENV)/installed ## Everything to work on devctl: $(VENV), and the quick checks before each commit
	$(VENV)/bin/pre-commit install

hello: $(VENV)/installed ## A run on one GPU by claim that says hello, on KUBECONFIG's or the local cluster
	sh scripts/hello.sh $(VENV) $(or $(KUBECONFIG),$(LOCAL_KUBECONFIG)) $(IMAGE)

example logs status artifacts clean: $(VENV)/installed ## The sample job: run it, inspect it, remove it
	sh scripts/jobs.sh $@ $(VENV) $(or $(KUBECONFIG),$(LOCAL_KUBECONFIG))

test: $(VENV)/installed ## What must pass: all fast tests, and the deep modules that the change touches
	$(TIERS)

test-deep: $(VENV)/installed ## All tests, coverage, every Python, random examples and benches with bounds
	$(TIERS) --deep

begin: $(VENV)/installed ## Before work on a change: record what has landed, in tests/landed.toml
	$(TIERS) begin

test-one: $(VENV)/installed ## Selected tests: make test-one T=tests/plane/test_kinds.py; what they need is left running
	$(TIERS) one $(T)

test-unit test-postgres test-release test-plane test-pods test-host test-molecule test-faults: $(VENV)/installed ## One tier: make test-plane
	$(TIERS) $(@:test-%=%)

test-short: test-unit ## Same as test-unit

test-integration: test-plane ## Same as test-plane: API server, scheduler, DRA plugin and Redis, without containers

test-coverage: $(VENV)/installed ## The unit tests, and how much of each part they cover
	sh scripts/unit.sh $(VENV) --coverage

test-newest-ansible: $(VENV)/installed ## The warm runner's tests with the newest ansible-core for PYTHON
	sh scripts/newest_ansible.sh $(VENV) $(or $(PYTHON),python3)

test-gpu: $(VENV)/installed ## What the DRA plugin and the node agent make of real GPUs, on a machine that has some
	$(VENV)/bin/pytest tests/gpu

test-vllm: $(VENV)/installed ## vLLM itself, on processors, in runs on the tests' cluster; builds its image of 2.9 GB first
	$(VENV)/bin/pytest tests/vllm

record: $(VENV)/installed ## Update the recordings of pod statuses for test-plane, on KUBECONFIG's or the local cluster
	PYTHONPATH=tests KUBECONFIG=$(or $(KUBECONFIG),$(LOCAL_KUBECONFIG)) $(VENV)/bin/python -m support.plane.record

molecule: $(VENV)/installed ## Each behaviour of the role, against KUBECONFIG's cluster with the operator scaled to 0
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" molecule test --all

wheel: $(VENV)/installed ## The package: dist/*.whl and its source distribution
	$(VENV)/bin/python -m build --no-isolation
	$(VENV)/bin/twine check --strict dist/*

docs: $(VENV)/installed ## The documentation's site, in docs/_build; checks all links
	$(VENV)/bin/python -m sphinx --fail-on-warning --keep-going --quiet --builder html docs docs/_build/html

pictures: $(VENV)/installed ## Terminal pictures for docs, from commands run on KUBECONFIG's or the local cluster
	KUBECONFIG=$(or $(KUBECONFIG),$(LOCAL_KUBECONFIG)) $(VENV)/bin/python scripts/pictures.py

new-kind: $(VENV)/installed ## The skeleton of a kind: make new-kind KIND=Notebook GROUP=ml.example.com [SCOPE=Cluster]
	$(VENV)/bin/python scripts/new_kind.py --kind=$(KIND) --group=$(GROUP) --version=$(or $(VERSION),v1alpha1) --scope=$(or $(SCOPE),Namespaced) --plural=$(PLURAL)

lint: $(VENV)/installed ## Style, types, layers, YAML and Ansible
	sh scripts/lint.sh $(VENV)

bench: bench-local bench-devservers bench-jobs bench-commands bench-many bench-releases bench-queues bench-node-agent bench-savings bench-gpu-workloads bench-cache bench-gateway ## Every figure of docs/performance.md

bench-local: $(VENV)/installed ## How long `up` takes: cold, cached, already up
	$(VENV)/bin/python tests/bench/local_up.py

bench-devservers: load ## A hundred DevServers at once, on the local cluster with the operator deployed
	KUBECONFIG=$(LOCAL_KUBECONFIG) $(VENV)/bin/python tests/bench/devservers.py localhost/devctl/devserver:0.1.0

bench-jobs: $(VENV)/installed ## Jobs per minute, and the overhead of a job over a bare pod
	KUBECONFIG=$(LOCAL_KUBECONFIG) $(VENV)/bin/python tests/bench/jobs.py localhost/devctl/base:trixie

bench-commands: load ## Response times of commands; SSH and files compared with kubectl
	for what in commands.py "ssh.py localhost/devctl/devserver:0.1.0" "files.py localhost/devctl/devserver:0.1.0"; do KUBECONFIG=$(LOCAL_KUBECONFIG) PYTHONPATH=tests $(VENV)/bin/python tests/bench/$$what || exit; done

bench-many: $(VENV)/installed ## A thousand DevServers and a restart of the operator, on its own control plane
	PYTHONPATH=tests:images/dra-plugin $(VENV)/bin/python tests/bench/many.py

bench-releases: $(VENV)/installed ## An earlier release and this one, alternating, on its own control plane
	PYTHONPATH=tests:images/dra-plugin $(VENV)/bin/python tests/bench/releases.py

bench-queues: $(VENV)/installed ## 300 users and a thousand servers in queues, on its own control plane with Kueue
	PYTHONPATH=tests:images/dra-plugin $(VENV)/bin/python tests/bench/queues.py

bench-node-agent: $(VENV)/installed ## CPU and memory of the node agent with 50 pods
	PYTHONPATH=tests:images/node-agent $(VENV)/bin/python tests/bench/node_agent.py

bench-gpu-workloads: $(VENV)/installed ## From apply to the pod's creation, alone and beside a thousand that have ended
	PYTHONPATH=tests:images/dra-plugin $(VENV)/bin/python tests/bench/gpu_workloads.py

bench-vllm: $(VENV)/installed ## vLLM on processors: to the first answer, with a cold and a cached image, on the local cluster
	PYTHONPATH=tests $(VENV)/bin/python tests/bench/vllm.py

bench-cache: $(VENV)/installed ## A pod with an image of 1.5 GB, cold and from the cache, on the local cluster with the parts cache and stores
	PYTHONPATH=tests $(VENV)/bin/python tests/bench/cached_start.py

bench-gateway: $(VENV)/installed ## The GPU workers API with PostgreSQL, beside a bare FastAPI, on its own control plane
	PYTHONPATH=tests:images/dra-plugin:images/gateway $(VENV)/bin/python tests/bench/gateway.py $(if $(PYTHON),--python $(PYTHON))

bench-savings: $(VENV)/installed ## What stopping idle servers saves in a simulated week of 100 servers
	PYTHONPATH=images/observer $(VENV)/bin/python tests/bench/savings.py

manifests: metrics boards rules api ## Update everything in the repository that is generated from code

metrics: $(VENV)/installed ## Update the tables of docs/metrics.md from what observer and warm runner export
	PYTHONPATH=images/observer:images/operator $(VENV)/bin/python scripts/metrics_tables.py

boards: $(VENV)/installed ## Update Grafana's boards in config/monitoring/boards from scripts/boards
	PYTHONPATH=scripts $(VENV)/bin/python -m boards.generate

rules: $(VENV)/installed ## Update the PrometheusRule from config/monitoring/rules/rules.yaml
	$(VENV)/bin/python scripts/prometheus_rule.py

api: $(VENV)/installed ## Update docs/workers-openapi.json from the gateway, and the client that is generated from it
	PYTHONPATH=scripts:images/gateway $(VENV)/bin/python -m workers_client

lock: $(VENV)/installed ## Update the locked requirement files
	sh scripts/lock.sh $(VENV)
