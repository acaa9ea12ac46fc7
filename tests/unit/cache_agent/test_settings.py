"""Settings from the environment."""

from __future__ import annotations

import pytest
import yaml
from devctl_cache_agent.settings import SettingError, read

from devctl.api.node_cache import AGENT, AGENT_NAMESPACE, CONTAINER, ROOT
from devctl.local.paths import REPOSITORY


def test_only_the_node_must_be_named() -> None:
    found = read({"NODE_NAME": "n"})
    assert (found.node, found.root, found.git_user) == ("n", ROOT, None)
    assert found.git_protocols == ("https", "ssh")
    assert found.most == 200 << 30
    assert found.endpoint == "https://huggingface.co"
    assert found.git_mirrors == {}


def test_all_may_be_chosen() -> None:
    found = read(
        {
            "NODE_NAME": "n",
            "CACHE_MAX_BYTES": "1Gi",
            "CACHE_FREE_PERCENT": "5",
            "GIT_PROTOCOLS": "https, http",
            "GIT_MIRRORS": "https://a/=http://b/, https://c/=http://d/?x=y",
            "GIT_USER": "7",
            "HF_ENDPOINT": "http://models",
        }
    )
    assert (found.most, found.free_percent, found.git_user) == (1 << 30, 5, 7)
    assert found.git_mirrors == {"https://a/": "http://b/", "https://c/": "http://d/?x=y"}
    assert found.git_protocols == ("https", "http")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NODE_NAME", ""),
        ("CACHE_MAX_BYTES", "much"),
        ("CACHE_FREE_PERCENT", "100"),
        ("CACHE_FREE_PERCENT", "-1"),
        ("GIT_PROTOCOLS", "ext"),
        ("GIT_PROTOCOLS", ","),
        ("GIT_MIRRORS", "https://a/"),
        ("GIT_USER", "root"),
        ("HTTP_PORT", "x"),
    ],
)
def test_what_is_not_valid_is_told_by_its_name(name: str, value: str) -> None:
    with pytest.raises(SettingError, match=name):
        read({"NODE_NAME": "n", name: value})


def test_the_manifest_and_the_code_name_the_same_things() -> None:
    text = (REPOSITORY / "config/cache/daemonset.yaml").read_text()
    (thing,) = yaml.safe_load_all(text)
    pod = thing["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert thing["metadata"] == {"name": AGENT, "namespace": AGENT_NAMESPACE}
    assert pod["serviceAccountName"] == AGENT
    assert container["name"] == CONTAINER
    variables = {each["name"]: each.get("value", "node-1") for each in container["env"]}
    found = read(variables)
    paths = {each["mountPath"] for each in container["volumeMounts"]}
    assert {found.root, found.pods, found.cdi, found.socket.rpartition("/")[0]} <= paths
    # Or that user could read Secrets and the token.
    assert found.git_user
    assert "fsGroup" not in pod["securityContext"]
    assert container["ports"] == [{"name": "http", "containerPort": found.port}]
