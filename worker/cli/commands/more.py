"""`holdfast demo` and `version`."""

import click

from worker import release

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
    # Half of Holdfast, which `version` need not load.
    from worker.cli.look.page import columns
    from worker.cli.look.wrap import folded
    from worker.demo import play
    from worker.demo.story import Tone

    def tell(text: str, tone: Tone, further: int | None) -> None:
        for row in folded(text, None if further is None else columns(), further or 0):
            bold, dim = tone is Tone.TITLE or None, tone is Tone.QUIET or None
            click.echo(click.style(row, bold=bold, dim=dim, fg=_COLOURS.get(tone)))

    return play.main(tell=tell)


@click.command()
def version() -> None:
    """Show the version.

    \b
    Example:
      holdfast version
    """
    click.echo(f"holdfast {release.mine()}")
