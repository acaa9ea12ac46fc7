from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devctl.errors import DevctlError, UsageError
from devctl.kube import kubeconfig
from devctl.kube.kubeconfig import find_access

if TYPE_CHECKING:
    from pathlib import Path


def config(name: str, *, current: bool = True, **context: Any) -> dict[str, Any]:
    return {
        "current-context": name if current else "",
        "clusters": [
            {
                "name": name,
                "cluster": {"server": f"https://{name}:6443/", "certificate-authority": "ca.crt"},
            }
        ],
        "users": [{"name": f"{name}-user", "user": {"tokenFile": "token"}}],
        "contexts": [
            {"name": name, "context": {"cluster": name, "user": f"{name}-user", **context}}
        ],
    }


def write(path: Path, content: dict[str, Any] | str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return str(path)


def test_one_file(tmp_path: Path) -> None:
    access = find_access(write(tmp_path / "k", config("one", namespace="team")))
    assert (access.server, access.namespace) == ("https://one:6443", "team")
    assert (access.context, access.user_name) == ("one", "one-user")
    assert access.cluster["certificate-authority"] == str(tmp_path / "ca.crt")
    assert access.user["tokenFile"] == str(tmp_path / "token")
    assert access.home == tmp_path
    assert "token" not in repr(access)


def test_several_files_are_one_and_the_first_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = config("one") | {"current-context": "one"}
    second["clusters"][0]["cluster"]["server"] = "https://other"
    second["clusters"] += config("two")["clusters"]
    second["users"] += config("two")["users"]
    second["contexts"] += config("two")["contexts"]
    paths = [
        write(tmp_path / "a/k", config("one", current=False)),
        str(tmp_path / "absent"),
        write(tmp_path / "b/k", second),
    ]
    monkeypatch.setenv("KUBECONFIG", ":".join(["", *paths]))
    assert find_access().server == "https://one:6443"
    assert find_access().user["tokenFile"] == str(tmp_path / "a/token")
    two = find_access(context="two")
    assert two.user["tokenFile"] == str(tmp_path / "b/token")


def test_the_file_in_the_home_folder(tmp_path: Path) -> None:
    write(tmp_path / "home/.kube/config", config("home"))
    assert find_access().context == "home"


def test_what_a_person_chooses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = config("one", namespace="team")
    for section in ("clusters", "users", "contexts"):
        both[section] += config("two")[section]
    path = write(tmp_path / "k", both)
    assert find_access(path, "two").namespace == "default"
    assert find_access(path, None, "mine").namespace == "mine"
    monkeypatch.setenv("DEVCTL_CONTEXT", "two")
    monkeypatch.setenv("DEVCTL_NAMESPACE", "chosen")
    assert find_access(path).context == "two"
    assert find_access(path).namespace == "chosen"
    assert find_access(path, "one", "mine").namespace == "mine"


def test_no_kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DevctlError, match=r"there is no kubeconfig: .*home/.kube/config"):
        find_access()
    with pytest.raises(DevctlError, match="absent` does not exist"):
        find_access(str(tmp_path / "absent"))
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/a:{tmp_path}/b")
    with pytest.raises(DevctlError, match="any file of KUBECONFIG"):
        find_access()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "cannot be read"),
        ("- 1\n", "is not a kubeconfig"),
        ("clusters: 5\n", "is not a kubeconfig"),
        ("clusters: [1]\n", "is not a kubeconfig"),
        ("users: [{user: {}}]\n", "is not a kubeconfig"),
        ("users: [{name: a, user: [1]}]\n", "is not a kubeconfig"),
        ("", "has no current context"),
        ("current-context: a\n", "there is no context `a`"),
        (
            "current-context: a\ncontexts: [{name: a, context: {cluster: b}}]\n",
            "names no cluster with an address",
        ),
        (config("one", user="somebody"), "names user `somebody`, which does not exist"),
    ],
)
def test_kubeconfigs_that_make_no_sense(
    tmp_path: Path, content: dict[str, Any] | str, words: str
) -> None:
    with pytest.raises(DevctlError, match=words) as caught:
        find_access(write(tmp_path / "k", content))
    assert caught.value.fix


def test_an_unknown_context_names_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        find_access(write(tmp_path / "k", config("one")), "two")
    assert "choose one of one with --context" in caught.value.fix


def test_a_folder_is_no_kubeconfig(tmp_path: Path) -> None:
    with pytest.raises(DevctlError, match=r"cannot be read: Is a directory$"):
        find_access(str(tmp_path))


@pytest.mark.parametrize(
    "server", ["10.0.0.1:6443", "ftp://x", "https://", "https://x:y", "https://x:0"]
)
def test_addresses_that_are_none(tmp_path: Path, server: str) -> None:
    content = config("one")
    content["clusters"][0]["cluster"]["server"] = server
    with pytest.raises(UsageError, match="not an address of an API server"):
        find_access(write(tmp_path / "k", content))


def test_a_context_without_a_user(tmp_path: Path) -> None:
    content = config("one")
    del content["contexts"][0]["context"]["user"]
    access = find_access(write(tmp_path / "k", content))
    assert access.user == {}


@pytest.mark.parametrize(("host", "server"), [("10.0.0.1", "10.0.0.1"), ("fd00::1", "[fd00::1]")])
def test_inside_a_pod(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, server: str
) -> None:
    monkeypatch.setattr(kubeconfig, "SERVICE_ACCOUNT", tmp_path)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    with pytest.raises(DevctlError, match="there is no kubeconfig"):
        find_access()
    (tmp_path / "token").write_text("secret")
    assert find_access().namespace == "default"
    (tmp_path / "namespace").write_text("team\n")
    access = find_access()
    assert (access.server, access.namespace) == (f"https://{server}:443", "team")
    assert access.user == {"tokenFile": str(tmp_path / "token")}
    assert find_access(namespace="mine").namespace == "mine"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "current-context": JSON,
            "clusters": JSON,
            "users": JSON,
            "contexts": st.lists(st.fixed_dictionaries({"name": JSON, "context": JSON})) | JSON,
        },
    )
)
def test_nonsense_is_told_as_such(tmp_path: Path, content: dict[str, Any]) -> None:
    with pytest.raises(
        DevctlError, match=r"has no current context|is not a kubeconfig|there is no context"
    ):
        find_access(write(tmp_path / "k", content))
