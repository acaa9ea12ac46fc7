"""`egpu completion`."""

from __future__ import annotations

import click

from devctl.cli.completion import script


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script that completes commands, options and names from the cluster.

    \b
    Examples:
      echo 'source <(egpu completion bash)' >> ~/.bashrc
      egpu completion fish > ~/.config/fish/completions/egpu.fish
    """
    # It imports commands, not they it.
    from devctl.cli.egpu.group import VARIABLE, egpu  # noqa: PLC0415

    click.echo(script(shell, egpu, "egpu", VARIABLE))
