"""`holdfast version`."""

import click

from worker import release


@click.command()
def version() -> None:
    """Show the version.

    \b
    Example:
      holdfast version
    """
    click.echo(f"holdfast {release.installed_release()}")
