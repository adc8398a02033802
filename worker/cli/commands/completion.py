"""`holdfast completion` and `version`."""

from typing import Final

import click
from click.shell_completion import get_completion_class

from worker import release
from worker.cli.command_support import print_note

_PLACES: Final = {
    "bash": "~/.local/share/bash-completion/completions/holdfast",
    "zsh": "~/.zfunc/_holdfast, with `fpath+=~/.zfunc; autoload -Uz compinit; compinit` in ~/.zshrc",
    "fish": "~/.config/fish/completions/holdfast.fish",
}
VARIABLE: Final = "_HOLDFAST_COMPLETE"  # click's own convention


@click.command()
@click.argument("shell", type=click.Choice(list(_PLACES)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script for completion of commands, models and ids.

    The script goes to standard output; where it belongs is said on standard error. Models are those of `holdfast
    models`; ids come from a stack that serves, and none is started for them.

    \b
    Examples:
      holdfast completion bash > ~/.local/share/bash-completion/completions/holdfast
      holdfast completion fish > ~/.config/fish/completions/holdfast.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None  # of the three that click knows
    click.echo(kind(context.find_root().command, {}, "holdfast", VARIABLE).source())
    print_note(f"This goes into {_PLACES[shell]}")


@click.command()
def version() -> None:
    """Show the version.

    \b
    Example:
      holdfast version
    """
    click.echo(f"holdfast {release.installed_release()}")
