"""`devctl completion`."""

from __future__ import annotations

import click


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script that completes commands, options and names from the cluster.

    \b
    Examples:
      echo 'source <(devctl completion bash)' >> ~/.bashrc
      echo 'source <(devctl completion zsh)' >> ~/.zshrc
      devctl completion fish > ~/.config/fish/completions/devctl.fish
    """
    # It imports commands, not they it.
    from devctl.cli.main import VARIABLE, cli  # noqa: PLC0415

    click.echo(script(shell, cli, "devctl", VARIABLE))


def script(shell: str, group: click.Command, program: str, variable: str) -> str:
    """What a shell reads to complete a program.

    Args:
        shell: Its name.
        group: The commands of the program.
        program: What the person types.
        variable: Through it the script asks the program.
    """
    from devctl.cli.shells import register  # noqa: PLC0415 - only this needs it

    register()
    from click.shell_completion import get_completion_class  # noqa: PLC0415

    kind = get_completion_class(shell)
    assert kind  # noqa: S101 - click knows all three
    return kind(group, {}, program, variable).source()
