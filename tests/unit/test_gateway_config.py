"""What config/gateway and what is installed around it assume about each other."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from devctl_gateway.settings import Settings
from devserver_user.network import egress

from devctl.api.gpu_worker_job import APP, GROUP, JOB_APP, NAMESPACE, PLURAL
from devctl.api.gpu_worker_node import PLURAL as NODES
from devctl.client.doctor import SHARED_CLASS
from devctl.local.paths import REPOSITORY
from devctl.local.worker_objects import CERTIFICATE, DATABASE, IDENTITY, SERVICE, SIGNING_KEY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONFIG = REPOSITORY / "config"
SCRIPT = REPOSITORY / "scripts" / "deploy_gpu_workers.sh"
POD_LABELS = {"app.kubernetes.io/name": "gpu-workers", "app.kubernetes.io/component": "gateway"}
DATABASE_LABELS = POD_LABELS | {"app.kubernetes.io/component": "postgres"}

Thing = dict[str, Any]


def documents(path: str) -> list[Thing]:
    return list(yaml.safe_load_all((CONFIG / path).read_text()))


def only(path: str) -> Any:
    (found,) = documents(path)
    return found


def template(path: str) -> Thing:
    found: Thing = only(path)["spec"]["template"]
    return found


def containers() -> Iterator[Thing]:
    pod = template("gateway/deployment.yaml")["spec"]
    yield from (*pod["initContainers"], *pod["containers"])


def policies() -> dict[str, Thing]:
    found = documents("gateway/network_policies.yaml")
    return {each["metadata"]["name"]: each["spec"] for each in found}


def variables(container: Thing) -> dict[str, Thing]:
    return {each["name"]: each for each in container["env"]}


@pytest.mark.parametrize("path", ["gateway/deployment.yaml", "custom-metrics/deployment.yaml"])
def test_a_pod_is_confined_and_what_it_writes_is_bounded(path: str) -> None:
    pod = template(path)["spec"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["securityContext"]["runAsUser"] > 0
    for container in (*pod.get("initContainers", ()), *pod["containers"]):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert {"memory", "ephemeral-storage"} <= container["resources"]["limits"].keys()
    for volume in pod["volumes"]:
        assert volume.keys() & {"configMap", "secret"} or volume["emptyDir"]["sizeLimit"]


def test_the_namespace_takes_confined_pods_alone() -> None:
    metadata = only("gateway/namespace.yaml")["metadata"]
    assert metadata["name"] == NAMESPACE
    assert metadata["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"


def test_every_object_is_in_the_namespace_or_the_cluster_s_and_installed() -> None:
    listed = set(only("gateway/kustomization.yaml")["resources"])
    there = {each.name for each in (CONFIG / "gateway").glob("*.yaml")} - {"kustomization.yaml"}
    assert there <= listed
    for file in there:
        for thing in documents(f"gateway/{file}"):
            if not thing["kind"].startswith("Cluster") and thing["kind"] != "Namespace":
                assert thing["metadata"]["namespace"] == NAMESPACE


def test_the_environment_has_what_the_gateway_reads() -> None:
    known = {f"GATEWAY_{each.name.upper()}" for each in fields(Settings)}
    required = {
        f"GATEWAY_{each.name.upper()}" for each in fields(Settings) if each.default is MISSING
    }
    migrate, gateway = (variables(each) for each in containers())
    assert migrate.keys() == required
    # Where several processes count is prometheus_client's to read, and must be writable.
    assert gateway["PROMETHEUS_MULTIPROC_DIR"]["value"].startswith("/tmp/")  # noqa: S108
    assert required < gateway.keys() - {"PROMETHEUS_MULTIPROC_DIR"} <= known
    texts = {name: each["value"] for name, each in gateway.items() if "value" in each}
    settings = Settings.from_environment(texts | {"GATEWAY_DATABASE": "sqlite+aiosqlite://"})
    assert settings.port == Settings("").port
    assert settings.heartbeat_seconds == Settings("").heartbeat_seconds
    assert settings.processes > 1
    assert gateway["GATEWAY_DATABASE"] == migrate["GATEWAY_DATABASE"]


def test_it_mounts_what_the_script_and_the_local_cluster_make_and_never_the_signing_key() -> None:
    (deployment,) = documents("gateway/deployment.yaml")
    text = yaml.safe_dump(deployment)
    for name in (DATABASE, CERTIFICATE, IDENTITY):
        assert name in text
        assert name in SCRIPT.read_text()
    assert SIGNING_KEY in SCRIPT.read_text()
    assert SIGNING_KEY not in text
    (gateway,) = deployment["spec"]["template"]["spec"]["containers"]
    mounts = {each["name"]: each["mountPath"] for each in gateway["volumeMounts"]}
    found = variables(gateway)
    assert found["GATEWAY_TLS_FOLDER"]["value"] == mounts["tls"]
    assert found["GATEWAY_IDENTITY_FILE"]["value"] == f"{mounts['identity']}/identity.json"


def test_service_budget_and_policy_select_the_gateway_s_pods() -> None:
    assert template("gateway/deployment.yaml")["metadata"]["labels"] == POD_LABELS
    service = only("gateway/service.yaml")
    assert service["metadata"]["name"] == SERVICE
    assert service["metadata"]["labels"]["app"] == APP
    assert service["spec"]["selector"] == POD_LABELS
    budget = only("gateway/pod_disruption_budget.yaml")["spec"]
    assert budget["selector"]["matchLabels"] == POD_LABELS
    assert policies()[SERVICE]["podSelector"]["matchLabels"] == POD_LABELS
    spread = template("gateway/deployment.yaml")["spec"]["topologySpreadConstraints"][0]
    assert spread["labelSelector"]["matchLabels"] == POD_LABELS


def test_only_the_port_with_tls_is_offered() -> None:
    (gateway,) = template("gateway/deployment.yaml")["spec"]["containers"]
    (port,) = gateway["ports"]
    assert port["containerPort"] == Settings("").tls_port
    (offered,) = only("gateway/service.yaml")["spec"]["ports"]
    assert offered["targetPort"] == port["name"]
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert gateway[probe]["httpGet"]["port"] == port["name"]
        assert gateway[probe]["httpGet"]["scheme"] == "HTTPS"
    assert gateway["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert gateway["livenessProbe"]["httpGet"]["path"] == "/healthz"


def test_a_pod_ends_after_those_who_ask_have_gone_elsewhere() -> None:
    pod = template("gateway/deployment.yaml")["spec"]
    pause = pod["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"]
    drain = re.search(
        r"^DRAIN_SECONDS = (\d+)",
        (REPOSITORY / "images/gateway/devctl_gateway/listening.py").read_text(),
        re.MULTILINE,
    )
    assert drain
    assert pause + int(drain[1]) < pod["terminationGracePeriodSeconds"]
    update = only("gateway/deployment.yaml")["spec"]["strategy"]["rollingUpdate"]
    assert update["maxUnavailable"] == 0


def test_nothing_is_allowed_that_no_policy_names() -> None:
    assert policies()["default-deny"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


def test_jobs_reach_the_internet_as_users_servers_do_and_nobody_reaches_them() -> None:
    policy = policies()["gpu-jobs"]
    assert policy["podSelector"] == {"matchLabels": {"app": JOB_APP}}
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert "ingress" not in policy
    (rule,) = policy["egress"]
    assert [each["ipBlock"] for each in rule["to"]] == egress({})
    assert "169.254.0.0/16" in rule["to"][0]["ipBlock"]["except"]


def test_agents_and_named_namespaces_reach_the_gateway_and_its_port_with_tls_alone() -> None:
    (rule,) = policies()[SERVICE]["ingress"]
    assert rule["ports"] == [{"port": 8443, "protocol": "TCP"}]
    assert rule["from"] == [
        {"podSelector": {"matchLabels": {"app": APP}}},
        {"namespaceSelector": {"matchLabels": {f"{GROUP}/reaches-gateway": "true"}}},
    ]
    agent = policies()["gpu-worker-agent"]
    assert agent["podSelector"]["matchLabels"] == {"app": APP}
    to_gateway = {"to": [{"podSelector": {"matchLabels": POD_LABELS}}], "ports": rule["ports"]}
    assert agent["egress"][0] == to_gateway


def test_the_gateway_alone_reaches_the_database() -> None:
    to = {"podSelector": {"matchLabels": DATABASE_LABELS}}
    reached = {
        name
        for name, policy in policies().items()
        for rule in policy.get("egress", ())
        if to in rule.get("to", ())
    }
    assert reached == {SERVICE}


@pytest.mark.parametrize("name", [SERVICE, "gpu-worker-agent"])
def test_what_answers_with_a_cloud_s_credentials_is_out_of_reach(name: str) -> None:
    for rule in policies()[name]["egress"]:
        for target in rule["to"]:
            block = target.get("ipBlock", {"except": ["169.254.0.0/16"]})
            assert {"169.254.0.0/16", "fe80::/10"} & {*block["except"]}


def test_the_gateway_may_write_its_two_kinds_and_nothing_else() -> None:
    written = {
        (rule["apiGroups"][0], resource): set(rule["verbs"])
        for role in documents("gateway/rbac.yaml")
        for rule in role.get("rules", ())
        for resource in rule["resources"]
        if not {*rule["verbs"]} <= {"get", "list", "watch"}
    }
    all_of_it = {"get", "list", "watch", "create", "patch", "delete"}
    assert written == {
        (GROUP, PLURAL): all_of_it,
        (GROUP, NODES): all_of_it,
        ("authentication.k8s.io", "tokenreviews"): {"create"},
    }
    readable = {
        resource
        for role in documents("gateway/rbac.yaml")
        for rule in role.get("rules", ())
        for resource in rule["resources"]
    }
    queues = {"workloads", "localqueues/pendingworkloads"}
    assert readable == {PLURAL, NODES, "nodes", "pods", "pods/log", "tokenreviews"} | queues
    pod = template("gateway/deployment.yaml")["spec"]
    account = documents("gateway/rbac.yaml")[0]["metadata"]
    assert pod["serviceAccountName"] == account["name"] == SERVICE


def test_sqlite_needs_no_secret_and_no_second_replica() -> None:
    patches = {each["path"]: each for each in only("gateway/sqlite/deployment.yaml")}
    assert patches["/spec/replicas"]["value"] == 1
    assert patches["/spec/strategy"]["value"] == {"type": "Recreate"}
    for kind in ("initContainers", "containers"):
        url = patches[f"/spec/template/spec/{kind}/0/env/0"]["value"]["value"]
        mount = patches[f"/spec/template/spec/{kind}/0/volumeMounts/-"]["value"]
        assert url.startswith(f"sqlite+aiosqlite:///{mount['mountPath']}/")
        assert mount["name"] == patches["/spec/template/spec/volumes/-"]["value"]["name"]
    claim = patches["/spec/template/spec/volumes/-"]["value"]["persistentVolumeClaim"]
    assert claim["claimName"] == only("gateway/sqlite/claim.yaml")["metadata"]["name"]
    for container in containers():
        assert container["env"][0]["name"] == "GATEWAY_DATABASE"


def test_the_autoscaler_asks_for_the_metric_that_the_adapter_makes_of_the_gateway_s() -> None:
    scaler = only("gateway/autoscaling/horizontal_pod_autoscaler.yaml")["spec"]
    assert scaler["scaleTargetRef"]["name"] == SERVICE
    assert scaler["minReplicas"] == only("gateway/deployment.yaml")["spec"]["replicas"]
    (metric,) = (each["object"] for each in scaler["metrics"])
    (rule,) = only("custom-metrics/config.yaml")["rules"]
    assert metric["metric"]["name"] == rule["name"]["as"]
    described = metric["describedObject"]
    assert (described["kind"], described["name"]) == ("Service", SERVICE)
    assert {each["resource"] for each in rule["resources"]["overrides"].values()} == {
        "namespace",
        "service",
    }
    # Every replica reports the same jobs: their sum would grow with the replicas.
    assert rule["metricsQuery"].startswith("max by")
    assert metric["target"]["type"] == "AverageValue"


def test_both_ways_of_scraping_say_of_which_service_a_figure_is() -> None:
    (job,) = only("local/parts/monitoring/with-workers/gateway.scrape.yaml")["scrape_configs"]
    labels = {e["target_label"]: e for e in job["relabel_configs"] if "target_label" in e}
    assert labels["service"]["replacement"] == SERVICE
    assert "namespace" in labels
    assert job["scheme"] == "https"
    monitor = only("gateway/monitoring/service_monitor.yaml")["spec"]
    assert monitor["selector"]["matchLabels"] == POD_LABELS
    (endpoint,) = monitor["endpoints"]
    assert endpoint["relabelings"][0]["replacement"] == job["job_name"]
    assert endpoint["port"] == only("gateway/service.yaml")["spec"]["ports"][0]["name"]
    assert job["relabel_configs"][0]["regex"] == f"gateway;{endpoint['port']}"


def test_the_adapter_serves_each_version_that_autoscalers_ask_for() -> None:
    found = documents("custom-metrics/api_services.yaml")
    assert {each["spec"]["version"] for each in found} == {"v1beta1", "v1beta2"}
    service = only("custom-metrics/service.yaml")["metadata"]
    for each in found:
        assert each["spec"]["service"] == {
            "name": service["name"],
            "namespace": service["namespace"],
        }
        assert "insecureSkipTLSVerify" not in each["spec"]


def test_the_script_can_be_called_from_anywhere() -> None:
    assert os.access(SCRIPT, os.X_OK)
    assert 'cd "$(dirname "$0")/.."' in SCRIPT.read_text()


def test_the_script_leaves_the_registration_token_to_people() -> None:
    lines = [line for line in SCRIPT.read_text().splitlines() if "imagepod-secrets" in line]
    # Printed for people, after everything is done.
    assert len(lines) == 1
    assert SCRIPT.read_text().index(lines[0]) > SCRIPT.read_text().index("cat <<END")


def test_the_script_needs_a_registry_for_a_foreign_cluster(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "KUBECONFIG": str(tmp_path / "kubeconfig")}
    done = subprocess.run(
        [SCRIPT], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "fix: set REGISTRY" in done.stderr
    assert done.stdout == ""


def test_artifacts_are_on_one_volume_that_jobs_and_gateway_have_as_the_same_user() -> None:
    claim = only("gateway/artifacts/claim.yaml")
    assert claim["metadata"]["namespace"] == NAMESPACE
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    # The same names on EKS and locally.
    assert claim["spec"]["storageClassName"] == SHARED_CLASS
    patches = [each for each in only("gateway/artifacts/deployment.yaml") if each["op"] != "test"]
    path = "/spec/template/spec/"
    context = {
        each["path"].removeprefix(f"{path}securityContext/"): each["value"]
        for each in patches
        if each["path"].startswith(f"{path}securityContext/")
    }
    job = (REPOSITORY / "roles/gpu_worker_job/templates/job.yaml.j2").read_text()
    assert context.keys() == {"runAsUser", "runAsGroup", "fsGroup", "fsGroupChangePolicy"}
    for name, value in context.items():
        assert f"{name}: {value}\n" in job
    env = {e["value"]["name"]: e["value"]["value"] for e in patches if e["path"].endswith("env/-")}
    settings = Settings.from_environment(env | {"GATEWAY_DATABASE": "sqlite+aiosqlite://"})
    assert settings.artifacts_claim == claim["metadata"]["name"]
    assert settings.artifacts_days == Settings("").artifacts_days
    (mount,) = (each["value"] for each in patches if each["path"].endswith("volumeMounts/-"))
    (volume,) = (each["value"] for each in patches if each["path"].endswith("volumes/-"))
    assert mount == {"name": volume["name"], "mountPath": settings.artifacts_folder}
    assert volume["persistentVolumeClaim"] == {"claimName": settings.artifacts_claim}


def test_without_the_component_nothing_is_kept() -> None:
    assert (Settings("").artifacts_claim, Settings("").artifacts_folder) == ("", "")
    _, gateway = (variables(each) for each in containers())
    assert not [name for name in gateway if "ARTIFACTS" in name]


def test_the_script_needs_a_class_of_volumes_for_artifacts(tmp_path: Path) -> None:
    # It knows the kinds, and no class.
    kubectl = tmp_path / "kubectl"
    kubectl.write_text('#!/bin/sh\ncase "$*" in "get crd "*) echo there ;; esac\n')
    kubectl.chmod(0o755)
    environment = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "KUBECONFIG": str(tmp_path / "kubeconfig"),
        "REGISTRY": "registry.example.com/team",
        "WITH": "sqlite artifacts",
        "VENV": str(tmp_path / "none"),
    }
    done = subprocess.run(
        [SCRIPT], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert f"no class `{SHARED_CLASS}`" in done.stderr


def test_the_script_knows_every_component() -> None:
    files = {each.parent.name: each for each in CONFIG.glob("gateway/*/kustomization.yaml")}
    kinds = {name: yaml.safe_load(each.read_text())["kind"] for name, each in files.items()}
    components = {name for name, kind in kinds.items() if kind == "Component"}
    assert {"artifacts", "autoscaling", "sqlite"} <= components
    usage = SCRIPT.read_text().partition("set -eu")[0]
    assert not [name for name in components if name not in usage]
