"""The image that people work in, in a namespace whose pods are restricted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.servers import wait_until

if TYPE_CHECKING:
    from support.command_line import CommandLine
    from support.servers import DevServer

TASTE = "import torch, torchvision, sklearn, numpy, safetensors; print(torch.ones(2).sum().item())"


def test_it_has_what_people_train_with(lab: DevServer) -> None:
    assert lab.run(f'python -c "{TASTE}"') == "2.0"
    programs = "for name in git tmux rsync torchrun; do command -v $name; done"
    said = lab.run(f"id -un; {programs}; ls /usr/sbin/sshd").split()
    assert (said[0], len(said)) == ("dev", 6)
    assert ".bashrc" in lab.run("ls -A /home/dev").split()


def test_it_runs_where_pods_are_restricted(lab: DevServer) -> None:
    (namespace,) = lab.get("namespace", lab.namespace)
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    # `NoNewPrivs` and no capability at all, as the kernel has it.
    own = lab.run("grep -E '^(CapEff|NoNewPrivs):' /proc/self/status").split()
    assert own == ["CapEff:", "0000000000000000", "NoNewPrivs:", "1"]


def test_stopping_lets_programs_write_what_they_have(
    lab: DevServer, command_line: CommandLine
) -> None:
    save = "trap 'sleep 2; echo saved > /home/dev/saved; exit' TERM; touch /tmp/trapped"
    lab.run(f'tmux new-session -d "sh -c \\"{save}; while :; do sleep 0.1; done\\""')
    wait_until(lambda: lab.run("ls /tmp/trapped || true") != "", "it is ready to save")
    command_line.must("stop", "lab", "--wait")
    command_line.must("start", "lab", "--wait")
    assert lab.run("cat /home/dev/saved") == "saved"
