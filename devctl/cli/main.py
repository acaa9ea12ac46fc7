"""The commands of `devctl`; each one is imported only when it is called."""

from __future__ import annotations

import click

from devctl.checkout import has_local_cluster
from devctl.cli.lazy import Entry, SectionedGroup
from devctl.cli.options import where
from devctl.cli.shared_options import verbose

VARIABLE = "_DEVCTL_COMPLETE"
"""The environment variable through which shells ask for completions."""

LOCAL = {"local": Entry("devctl.cli.local.group:local", "A Kubernetes on this machine")}
"""Outside of a checkout, help hides it, and it says where the local cluster is."""


@click.group(
    cls=SectionedGroup,
    sections={
        "Servers": {
            "create": Entry("devctl.cli.create:create", "Create a server"),
            "list": Entry("devctl.cli.list:list_", "List servers"),
            "describe": Entry("devctl.cli.describe:describe", "Show details of a server"),
            "status": Entry("devctl.cli.list:status", "Show the state of servers, and why"),
            "events": Entry("devctl.cli.events:events", "Show what happened to servers"),
            "monitor": Entry("devctl.cli.monitor:monitor", "Show CPU, memory and GPU usage"),
            "top": Entry("devctl.cli.top:top", "Show what all servers and jobs use"),
            "stop": Entry("devctl.cli.lifecycle:stop", "Stop a server, keep its files"),
            "start": Entry("devctl.cli.lifecycle:start", "Start a stopped server"),
            "restart": Entry("devctl.cli.lifecycle:restart", "Stop and start a server"),
            "update": Entry("devctl.cli.update:update", "Change a server's flavor, image, size, …"),
            "edit": Entry("devctl.cli.update:edit", "Change a server's spec in your editor"),
            "apply": Entry("devctl.cli.apply:apply", "Create or change objects from files"),
            "extend": Entry("devctl.cli.update:extend", "Give a server more time"),
            "hold": Entry("devctl.cli.hold:hold", "Keep an idle server running"),
            "delete": Entry("devctl.cli.delete:delete", "Delete a server, keep its files"),
            "homes": Entry("devctl.cli.homes:homes", "List or delete kept files"),
            "flavors": Entry("devctl.cli.flavors:flavors", "List flavors, and what is free"),
            "cost": Entry("devctl.cli.cost:cost", "Show what ran, and what it cost"),
        },
        "Connect": {
            "ssh": Entry("devctl.cli.ssh:ssh", "Open a shell, or run a command"),
            "code": Entry("devctl.cli.code:code", "Open a server in VS Code"),
            "jupyter": Entry("devctl.cli.port_forward:jupyter", "Open Jupyter on a server"),
            "exec": Entry("devctl.cli.ssh:exec_", "Run a command without SSH"),
            "port-forward": Entry(
                "devctl.cli.port_forward:port_forward", "Forward ports of a server"
            ),
        },
        "Run and copy": {
            "run": Entry("devctl.cli.run:run", "Send a project and run it on a server"),
            "logs": Entry("devctl.cli.runs:logs", "Show the output of a run"),
            "attach": Entry("devctl.cli.runs:attach", "Follow a run again"),
            "stop-run": Entry("devctl.cli.runs:stop_run", "End a run"),
            "submit": Entry("devctl.cli.jobs.submit:submit", "Run a project as a GPU job"),
            "jobs": Entry("devctl.cli.jobs.group:jobs", "List, read and cancel GPU jobs"),
            "vllm": Entry("devctl.cli.vllm.vllm_group:vllm", "Run vLLM with GPUs of its own"),
            "cache": Entry("devctl.cli.vllm.cache_group:cache", "What nodes are to have ready"),
            "workers": Entry("devctl.cli.workers.group:workers", "Run jobs over HTTP, and pay"),
            "sync": Entry("devctl.cli.sync:sync", "Send or fetch changes in a folder"),
            "cp": Entry("devctl.cli.sync:cp", "Copy files to or from a server"),
        },
        "Set up": {
            "quota": Entry("devctl.cli.admin.quota:own_quota", "Show what is left of your quota"),
            "login": Entry("devctl.cli.login:login", "Log in to the cluster"),
            "logout": Entry("devctl.cli.login:logout", "Log out again"),
            "whoami": Entry("devctl.cli.whoami:whoami", "Show who you are in the cluster"),
            "doctor": Entry("devctl.cli.doctor:doctor", "Find problems, and how to fix them"),
            "config": Entry("devctl.cli.config:config", "List and change your defaults"),
            "config-ssh": Entry("devctl.cli.ssh:config_ssh", "Let ssh and scp find servers"),
            "completion": Entry("devctl.cli.completion:completion", "Set up completion in a shell"),
            "admin": Entry("devctl.cli.admin.group:admin", "Manage users, flavors and quota"),
            **(LOCAL if has_local_cluster() else {}),
        },
    },
    hidden={
        "credential": Entry("devctl.cli.login:credential", "For kubectl to log in with"),
        "ssh-proxy": Entry("devctl.cli.ssh:ssh_proxy", "For ssh to connect through"),
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
