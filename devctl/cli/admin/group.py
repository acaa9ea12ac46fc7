"""`devctl admin`: the group of its commands."""

from __future__ import annotations

import click

from devctl.cli.lazy import Entry, SectionedGroup


@click.group(
    cls=SectionedGroup,
    sections={
        "Commands": {
            "user": Entry("devctl.cli.admin.group:user", "Onboard, suspend and delete users"),
            "team": Entry("devctl.cli.admin.group:team", "Share quota among users"),
            "flavor": Entry("devctl.cli.admin.group:flavor", "Create, cordon and list flavors"),
            "quota": Entry("devctl.cli.admin.quota:quota", "Show what users use of their quota"),
            "report": Entry("devctl.cli.admin.report:report", "Show who uses what"),
        },
    },
)
def admin() -> None:
    """For administrators: users, teams, flavors and quota.

    \b
    Examples:
      devctl admin user create alice --gpus 2
      devctl admin user kubeconfig alice --file alice.yaml
      devctl admin report --sort-by gpu
    """


@click.group(
    cls=SectionedGroup,
    sections={
        "Commands": {
            "create": Entry("devctl.cli.admin.user_change:create", "Create a user"),
            "update": Entry("devctl.cli.admin.user_change:update", "Change a user's quota, …"),
            "list": Entry("devctl.cli.admin.user_show:list_", "List users"),
            "describe": Entry("devctl.cli.admin.user_show:describe", "Show details of a user"),
            "suspend": Entry("devctl.cli.admin.user_state:suspend", "Stop a user's servers"),
            "resume": Entry("devctl.cli.admin.user_state:resume", "Let a user work again"),
            "delete": Entry("devctl.cli.admin.user_state:delete", "Delete a user, keep the files"),
            "kubeconfig": Entry("devctl.cli.admin.kubeconfig:kubeconfig", "Issue credentials"),
        },
    },
)
def user() -> None:
    """Onboard users, each with a namespace, rights, quota and network.

    \b
    Examples:
      devctl admin user create alice@company.com --name alice --gpus 2 --flavor gpu-large
      devctl admin user list
      devctl admin user suspend alice
    """


@click.group(
    cls=SectionedGroup,
    sections={
        "Commands": {
            "create": Entry("devctl.cli.admin.flavor:create", "Create a flavor"),
            "cordon": Entry("devctl.cli.admin.flavor:cordon", "Refuse new servers of a flavor"),
            "uncordon": Entry("devctl.cli.admin.flavor:uncordon", "Take new servers again"),
            "list": Entry("devctl.cli.flavors:flavors", "List flavors, and what is free"),
        },
    },
)
def flavor() -> None:
    """Create, cordon and list flavors: what servers run on.

    \b
    Examples:
      devctl admin flavor create gpu-large --cpu 8 --memory 32Gi --gpus 1
      devctl admin flavor cordon gpu-large
      devctl admin flavor list
    """


@click.group(
    cls=SectionedGroup,
    sections={
        "Commands": {
            "create": Entry("devctl.cli.admin.team_change:create", "Create a team"),
            "update": Entry("devctl.cli.admin.team_change:update", "Change a team's quota, …"),
            "list": Entry("devctl.cli.admin.team_show:list_", "List teams"),
            "describe": Entry("devctl.cli.admin.team_show:describe", "Show details of a team"),
            "delete": Entry("devctl.cli.admin.team_change:delete", "Delete a team"),
        },
    },
)
def team() -> None:
    """Teams of users who share a quota: servers beyond it wait in a queue.

    \b
    Examples:
      devctl admin team create vision --flavor gpu-large=8
      devctl admin user update alice --team vision
      devctl admin team describe vision
    """
