"""`holdfast demo`."""

import asyncio

import click

from worker.cli.demo_script import Demo
from worker.settings import Settings


@click.command()
def demo() -> int:
    """Play a task that is killed again and again, and continues.

    It needs no key, asks nothing, and leaves your own stack alone: a scripted model fixes a failing test on a stack of
    its own. Ends with code 1 when anything that it checks does not hold.

    \b
    Example:
      holdfast demo
    """
    return 0 if asyncio.run(Demo(Settings.read()).play()) else 1
