"""Git's commands and environment."""

from __future__ import annotations

import shlex
from pathlib import Path

from devctl_cache_agent import git

SSH = git.Ssh("/etc/canhazgpu/git-ssh/ssh-privatekey", "/etc/canhazgpu/git-ssh/known_hosts")


def test_the_environment_has_nothing_of_the_agents_but_path_and_proxies() -> None:
    base = {"PATH": "/bin", "HTTPS_PROXY": "http://proxy", "GIT_DIR": "/x", "LD_PRELOAD": "/y"}
    found = git.environment(base, "/nonexistent", ["https", "ssh"], None)
    assert found["PATH"] == "/bin"
    assert found["HTTPS_PROXY"] == "http://proxy"
    assert found["GIT_ALLOW_PROTOCOL"] == "https:ssh"
    assert found["GIT_SSH_COMMAND"] == "false"
    assert not {"GIT_DIR", "LD_PRELOAD"} & found.keys()


def test_ssh_believes_known_hosts_only_and_offers_one_key() -> None:
    found = git.environment({}, "/nonexistent", ["ssh"], SSH)["GIT_SSH_COMMAND"]
    words = shlex.split(found)
    assert words[:3] == ["ssh", "-F", "/dev/null"]
    assert {
        "-oStrictHostKeyChecking=yes",
        "-oBatchMode=yes",
        "-oIdentitiesOnly=yes",
        "-oPermitLocalCommand=no",
        f"-oIdentityFile={SSH.key}",
        f"-oUserKnownHostsFile={SSH.known_hosts}",
    } <= set(words)


def test_a_url_is_never_taken_for_an_option_and_files_are_bounded() -> None:
    argv = git.fetch(Path("/c"), "--upload-pack=id", ["+a:b"], 7)
    assert argv[:2] == ["prlimit", "--fsize=7"]
    assert argv[-3:] == ["--", "--upload-pack=id", "+a:b"]
    assert "--no-recurse-submodules" in argv
    assert git.ask_default(Path("/c"), "-x")[-3:] == ["--", "-x", "HEAD"]


def test_a_servers_default_branch_is_not_believed_to_be_a_name() -> None:
    for line in (
        "ref: refs/heads/--x\tHEAD",
        "ref: refs/tags/a\tHEAD",
        "ref: refs/heads/a b\tHEAD",
    ):
        assert git.default_branch(line) is None
    assert git.default_branch("") is None


def test_progress_is_read_from_what_git_says() -> None:
    assert git.percent(b"") is None
    assert git.percent(b"Receiving objects:  10% (1/10)\r") == 9
    assert git.percent(b"Receiving objects: 100% (1/1)\rResolving deltas:  50% (1/2)\r") == 95
    assert git.percent(b"Receiving objects: 999% (1/1)\r") == 90


def test_the_reason_is_gits_own_word() -> None:
    said = b"Cloning\nremote: hello\nfatal: repository 'x' not found\n"
    assert git.reason(said) == "repository 'x' not found"
    assert git.reason(b"") == "it said nothing"
    assert git.reason(b"odd\n") == "odd"


def test_the_longest_beginning_says_where_to_fetch_from() -> None:
    mirrors = {"https://a/": "https://m/", "https://a/b/": "https://n/"}
    assert git.rewritten("https://a/b/c", mirrors) == "https://n/c"
    assert git.rewritten("https://c/d", mirrors) == "https://c/d"
