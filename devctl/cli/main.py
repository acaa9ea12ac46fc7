"""The commands of `devctl`; each one is imported only when it is called."""

from __future__ import annotations

import click

from devctl.checkout import has_local_cluster
from devctl.cli.lazy import Entry, SectionedGroup
from devctl.cli.options import where
from devctl.cli.verbosity import verbose

VARIABLE = "_DEVCTL_COMPLETE"
"""Through it the shell's script asks devctl for completions."""

LOCAL = {"local": Entry("devctl.cli.local.group:local", "A Kubernetes on this machine")}
"""Without a checkout it says where the local cluster is found, and help does not name it."""


@click.group(
    cls=SectionedGroup,
    sections={
        "Servers": {
            "create": Entry("devctl.cli.create:create", "Create a server"),
            "list": Entry("devctl.cli.list:list_", "List servers"),
            "describe": Entry(
                "devctl.cli.describe:describe", "Show details and the reasons for its state"
            ),
            "status": Entry(
                "devctl.cli.status:status", "Show the state of servers; --watch follows"
            ),
            "events": Entry("devctl.cli.events:events", "Show what has happened to servers"),
            "monitor": Entry("devctl.cli.monitor:monitor", "Show what a server uses"),
            "stop": Entry("devctl.cli.stop:stop", "Stop a server, keep its files"),
            "start": Entry("devctl.cli.start:start", "Start a stopped server"),
            "restart": Entry("devctl.cli.restart:restart", "Stop and start a server"),
            "update": Entry("devctl.cli.update:update", "Change a server's flavor, image, size, …"),
            "edit": Entry("devctl.cli.edit:edit", "Change a server's spec in your editor"),
            "apply": Entry("devctl.cli.apply:apply", "Create or change what files describe"),
            "extend": Entry("devctl.cli.extend:extend", "Give a server more time"),
            "delete": Entry("devctl.cli.delete:delete", "Delete a server, keep its files"),
            "homes": Entry("devctl.cli.homes:homes", "List or delete kept files"),
            "flavors": Entry("devctl.cli.flavors:flavors", "What servers run on, and what is free"),
        },
        "Connect": {
            "ssh": Entry("devctl.cli.ssh:ssh", "Open a shell, or run a command"),
            "code": Entry("devctl.cli.code:code", "Open it in VS Code"),
            "jupyter": Entry("devctl.cli.jupyter:jupyter", "Open Jupyter on it"),
            "exec": Entry("devctl.cli.exec:exec_", "Run a command without SSH"),
            "port-forward": Entry("devctl.cli.port_forward:port_forward", "Reach its ports here"),
        },
        "Run and copy": {
            "run": Entry("devctl.cli.run:run", "Send a project and run it on every rank"),
            "logs": Entry("devctl.cli.logs:logs", "Show what a run has printed"),
            "attach": Entry("devctl.cli.attach:attach", "Follow a run again"),
            "stop-run": Entry("devctl.cli.stop_run:stop_run", "End a run"),
            "sync": Entry("devctl.cli.sync:sync", "Send a folder's changes, or bring them back"),
            "cp": Entry("devctl.cli.cp:cp", "Copy files to or from a server"),
        },
        "Set up": {
            "doctor": Entry("devctl.cli.doctor:doctor", "Find problems, and how to fix them"),
            "config": Entry("devctl.cli.config:config", "List and change your defaults"),
            "config-ssh": Entry("devctl.cli.config_ssh:config_ssh", "Let ssh and scp know servers"),
            "completion": Entry("devctl.cli.completion:completion", "Complete in a shell"),
            **(LOCAL if has_local_cluster() else {}),
        },
    },
    hidden={
        "ssh-proxy": Entry("devctl.cli.ssh_proxy:ssh_proxy", "What ssh connects through"),
        **LOCAL,
    },
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@where
@verbose
@click.version_option(package_name="devctl")
def cli() -> None:
    """Self-service PyTorch dev servers and GPU jobs on Kubernetes.

    \b
    Examples:
      devctl create my-dev --flavor gpu-large
      devctl ssh my-dev
      devctl run my-dev train.py --epochs 3
    """
