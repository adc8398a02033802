"""`holdfast demo`."""

import asyncio
from datetime import datetime

import click

from worker.settings import Settings


@click.command()
def demo() -> int:
    """Play a task that is killed again and again, and continues.

    It needs no key, asks nothing, and leaves your own stack alone: a scripted model fixes a failing test on a stack of
    its own. The first time may build for 2 to 5 minutes. Ends with code 1 when anything that it checks does not hold.

    \b
    Example:
      holdfast demo
    """
    # Start-up time: help needs none of it.
    from worker.cli.demo.play import Demo
    from worker.cli.render.terminal import is_live_terminal
    from worker.cli.render.terminal_writer import TerminalWriter

    settings = Settings.read()
    writer = TerminalWriter(live=is_live_terminal(settings))
    return 0 if asyncio.run(Demo(settings, writer, datetime.now()).play()) else 1
