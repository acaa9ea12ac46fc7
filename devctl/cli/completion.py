"""`devctl completion`, and what shells run where click's own scripts fall short.

- bash breaks words at `:` and `=`, so that `lab:/data` would be three; it sends the whole line
  and gets back what follows the break.
- zsh may not have loaded its completion system when the script is read.
- fish would cut a description at a comma.
"""

from __future__ import annotations

import os
import shlex

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    split_arg_string,
)


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
    from devctl.cli.main import VARIABLE, cli  # noqa: PLC0415 - it imports this module

    click.echo(script(shell, cli, "devctl", VARIABLE))


def script(shell: str, group: click.Command, program: str, variable: str) -> str:
    """What a shell reads to complete a program; it asks through an environment variable."""
    kinds: dict[str, type[ShellComplete]] = {"bash": _Bash, "zsh": _Zsh, "fish": _Fish}
    return kinds[shell](group, {}, program, variable).source()


def register() -> None:
    """Have click use the scripts below."""
    for kind in (_Bash, _Zsh, _Fish):
        add_completion_class(kind)


_BASH = """\
%(complete_func)s() {
    local response type value
    COMPREPLY=()
    response=$(env COMP_LINE="$COMP_LINE" COMP_POINT="$COMP_POINT" \\
        COMP_WORDBREAKS="$COMP_WORDBREAKS" COMP_WORDS= COMP_CWORD=0 \\
        %(complete_var)s=bash_complete %(prog_name)s)
    while IFS=, read -r type value; do
        case $type in
        dir) compopt -o dirnames ;;
        file) compopt -o default ;;
        plain) COMPREPLY+=("$value") ;;
        part) COMPREPLY+=("$value"); compopt -o nospace ;;
        esac
    done <<<"$response"
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""
_ZSH_START = """\
#compdef %(prog_name)s

(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }
"""


class _Bash(BashComplete):
    source_template = _BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words of the line up to the cursor; COMP_POINT counts bytes."""
        line = os.environ["COMP_LINE"].encode("utf-8", "surrogateescape")
        typed = line[: int(os.environ["COMP_POINT"])].decode("utf-8", "replace")
        words = split_arg_string(typed)
        begun = words.pop() if words and not _ended(typed) else ""
        return words[1:], begun

    def complete(self) -> str:
        """What replaces the part of the word after its last break."""
        before, begun = self.get_completion_args()
        breaks = [char for char in ":=" if char in os.environ.get("COMP_WORDBREAKS", "")]
        cut = max((begun.rfind(char) + 1 for char in breaks), default=0)
        found = ((item, item.value[cut:]) for item in self.get_completions(before, begun))
        return "\n".join(
            f"{_kind(item)},{shlex.quote(rest) if rest else ''}" for item, rest in found
        )


class _Zsh(ZshComplete):
    source_template = ZshComplete.source_template.replace("#compdef %(prog_name)s\n", _ZSH_START, 1)


class _Fish(FishComplete):
    source_template = FishComplete.source_template.replace(
        'string split ","', 'string split -m 1 ","', 1
    )


def _kind(item: CompletionItem[str]) -> str:
    """How bash treats an answer; it adds no blank to a part of a word."""
    return "part" if item.type == "plain" and item.value.endswith((":", "/", "=")) else item.type


def _ended(typed: str) -> bool:
    """Whether the cursor stands after a blank that ends a word."""
    return typed[-1:].isspace() and split_arg_string(typed + "x")[-1] == "x"
