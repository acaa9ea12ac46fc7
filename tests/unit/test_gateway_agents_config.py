"""What config/gateway/agent, config/gateway/nodes and their programs assume about each other."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from devctl_gateway.identity.reviews import AGENT, AUDIENCE
from devctl_gpu_worker_agent import settings
from devctl_gpu_worker_agent.gateway import Gateway
from devctl_observer.families import ALONE

from devctl.api.gpu_worker_job import APP, GROUP, NAMESPACE, SLOTS
from devctl.api.gpu_worker_node import CONTROLLER, GPU_MEMORY, PLURAL, PRICES, STATE, State
from devctl.local.paths import REPOSITORY
from devctl.local.worker_objects import CERTIFICATE, SERVICE

if TYPE_CHECKING:
    from collections.abc import Iterator

CONFIG = REPOSITORY / "config/gateway"
SOURCE = REPOSITORY / "images/gpu-worker-agent/devctl_gpu_worker_agent"
PODS = ["agent/daemonset.yaml", "nodes/deployment.yaml"]
Thing = dict[str, Any]


def documents(path: str) -> list[Thing]:
    return list(yaml.safe_load_all((CONFIG / path).read_text()))


def only(path: str) -> Any:
    (found,) = documents(path)
    return found


def template(path: str) -> Thing:
    found: Thing = only(path)["spec"]["template"]
    return found


def container(path: str) -> Thing:
    (found,) = template(path)["spec"]["containers"]
    return dict(found)


def variables(path: str) -> dict[str, str]:
    return {each["name"]: each.get("value", "node-1") for each in container(path)["env"]}


def rules(path: str) -> Iterator[tuple[str, str, str]]:
    """Every right that a file grants: a group, a resource and a verb."""
    for thing in documents(path):
        for rule in thing.get("rules", ()):
            for resource in rule["resources"]:
                yield from ((rule["apiGroups"][0], resource, verb) for verb in rule["verbs"])


@pytest.mark.parametrize("path", PODS)
def test_a_pod_is_confined_and_what_it_writes_is_bounded(path: str) -> None:
    pod = template(path)["spec"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["securityContext"]["runAsUser"] > 0
    assert container(path)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {"memory", "ephemeral-storage"} <= container(path)["resources"]["limits"].keys()
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
    for volume in pod.get("volumes", ()):
        assert volume.keys() & {"secret", "projected"} or volume["emptyDir"]["sizeLimit"]


@pytest.mark.parametrize("part", ["agent", "nodes"])
def test_every_object_is_installed_and_in_the_namespace_or_the_cluster_s(part: str) -> None:
    listed = set(only(f"{part}/kustomization.yaml")["resources"])
    there = {each.name for each in (CONFIG / part).glob("*.yaml")} - {"kustomization.yaml"}
    assert there == listed
    assert part in only("kustomization.yaml")["resources"]
    for file in there:
        for thing in documents(f"{part}/{file}"):
            if not thing["kind"].startswith(("Cluster", "Validating")):
                assert thing["metadata"]["namespace"] == NAMESPACE


def test_agents_and_their_service_are_found_by_the_label_of_the_api() -> None:
    labels = template("agent/daemonset.yaml")["metadata"]["labels"]
    service = only("agent/service.yaml")
    assert labels["app"] == service["metadata"]["labels"]["app"] == APP
    assert service["spec"] == {"clusterIP": "None", "selector": {"app": APP}}
    selector = only("agent/daemonset.yaml")["spec"]["selector"]["matchLabels"]
    assert selector == {"app": APP}


def test_the_agents_settings_are_those_that_it_reads() -> None:
    given = variables("agent/daemonset.yaml")
    text = "".join(file.read_text() for file in SOURCE.glob("*.py"))
    nvidia = {"NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"}
    for name in given.keys() - nvidia:
        assert f'"{name}"' in text
    plain = settings.read({name: given[name] for name in ("NODE_NAME", "GATEWAY_URL")})
    found = settings.read(given)
    # Without them it would be the same, but for the authority.
    assert found.token_file == plain.token_file
    assert found.registration_file == plain.registration_file
    assert (found.most_jobs, found.made_up_memory) == (0, 0)
    Gateway(found.url)
    assert found.url == f"https://{SERVICE}.{NAMESPACE}.svc"


def test_the_agent_mounts_a_token_for_the_gateway_and_no_key_of_others() -> None:
    pod = template("agent/daemonset.yaml")["spec"]
    mounts = {e["name"]: e["mountPath"] for e in container("agent/daemonset.yaml")["volumeMounts"]}
    volumes = {each["name"]: each for each in pod["volumes"]}
    given = settings.read(variables("agent/daemonset.yaml"))
    (source,) = volumes["token"]["projected"]["sources"]
    assert source["serviceAccountToken"]["audience"] == AUDIENCE
    assert given.token_file == f"{mounts['token']}/{source['serviceAccountToken']['path']}"
    assert f"system:serviceaccount:{NAMESPACE}:{pod['serviceAccountName']}" == AGENT
    registration, authority = (volumes[n]["secret"] for n in ("registration", "authority"))
    assert registration["secretName"] == "imagepod-secrets"
    assert registration["optional"]
    assert registration["items"] == [{"key": "registration-token", "path": "registration-token"}]
    assert given.registration_file == f"{mounts['registration']}/registration-token"
    assert authority["secretName"] == CERTIFICATE
    assert authority["items"] == [{"key": "ca.crt", "path": "ca.crt"}]
    assert given.authority == f"{mounts['authority']}/ca.crt"
    assert given.folder == mounts["state"]
    assert volumes["state"]["emptyDir"]["medium"] == "Memory"


def test_the_probes_look_for_the_files_that_the_agent_writes() -> None:
    found = container("agent/daemonset.yaml")
    text = (SOURCE / "__main__.py").read_text()
    for probe, name in (("startupProbe", "alive"), ("readinessProbe", "ready")):
        assert found[probe]["exec"]["command"][-1] == f"/run/gpu-worker/{name}"
        assert f'folder / "{name}"' in text


def test_agents_read_what_they_need_and_write_nothing() -> None:
    assert set(rules("agent/rbac.yaml")) == {
        ("", "nodes", "get"),
        ("", "pods", "list"),
        ("resource.k8s.io", "resourceslices", "list"),
    }


def test_the_writer_of_labels_is_the_observer_with_its_kind_alone() -> None:
    given = variables("nodes/deployment.yaml")
    assert given["DEVCTL_OBSERVER_KIND"] in ALONE
    assert given["DEVCTL_OBSERVER_LEASE"] == CONTROLLER
    assert container("nodes/deployment.yaml")["image"] == "localhost/devctl/observer"
    pod = template("nodes/deployment.yaml")["spec"]
    account = documents("nodes/rbac.yaml")[0]["metadata"]["name"]
    assert pod["serviceAccountName"] == account == CONTROLLER
    leases = [r for t in documents("nodes/rbac.yaml") for r in t.get("rules", ())]
    (named,) = (each["resourceNames"] for each in leases if "resourceNames" in each)
    assert named == [given["DEVCTL_OBSERVER_LEASE"]]
    labels = template("nodes/deployment.yaml")["metadata"]["labels"]
    assert only("nodes/network_policy.yaml")["spec"]["podSelector"]["matchLabels"] == labels


def test_the_writer_of_labels_writes_nodes_and_one_status_alone() -> None:
    written = {r for r in rules("nodes/rbac.yaml") if r[2] not in {"get", "list", "watch"}}
    assert written == {
        ("", "nodes", "patch"),
        ("", "nodes/status", "patch"),
        (GROUP, f"{PLURAL}/status", "patch"),
        ("coordination.k8s.io", "leases", "create"),
        ("coordination.k8s.io", "leases", "update"),
    }


def test_the_policy_knows_the_labels_the_states_and_the_account() -> None:
    policy, binding = documents("nodes/policy.yaml")
    assert policy["spec"]["failurePolicy"] == "Fail"
    assert binding["spec"]["validationActions"] == ["Deny"]
    assert binding["spec"]["policyName"] == policy["metadata"]["name"]
    (condition,) = policy["spec"]["matchConditions"]
    assert f"'system:serviceaccount:{NAMESPACE}:{CONTROLLER}'" in condition["expression"]
    named = {each["name"]: each["expression"] for each in policy["spec"]["variables"]}
    assert set(re.findall(r"'([^']+)'", named["ours"])) == {STATE, GPU_MEMORY, PRICES}
    assert named["slots"] == f"'{SLOTS}'"
    (values,) = (
        each["expression"]
        for each in policy["spec"]["validations"]
        if "matches(" in each["expression"]
    )
    (states,) = re.findall(r"in \[([^]]+)\]", values)
    assert set(re.findall(r"'([^']+)'", states)) == set(State)
