"""`holdfast demo` and `version`."""

import asyncio
from datetime import datetime

import click

from worker import release
from worker.settings import Settings

_COLOURS = {"good": "green", "bad": "red"}


@click.command()
def demo() -> int:
    """Play a task that is killed again and again, and goes on.

    It needs no key, asks nothing, and leaves your own stack alone: a scripted model fixes a failing test on a stack of
    its own. The first time may build for 2 to 5 minutes. Ends with code 1 when anything that it checks does not hold.

    \b
    Example:
      holdfast demo
    """
    # Start-up time: `version` needs none of it.
    from worker.cli.render.wrap import terminal_columns, wrap_text
    from worker.demo.play import Demo

    def write(text: str, style: str, indent: int | None) -> None:
        for row in wrap_text(text, None if indent is None else terminal_columns(), indent or 0):
            bold, dim = style == "title" or None, style == "quiet" or None
            click.echo(click.style(row, bold=bold, dim=dim, fg=_COLOURS.get(style)))

    return 0 if asyncio.run(Demo(Settings.read(), write, datetime.now()).play()) else 1


@click.command()
def version() -> None:
    """Show the version.

    \b
    Example:
      holdfast version
    """
    click.echo(f"holdfast {release.installed_release()}")
