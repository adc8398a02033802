"""`holdfast restore`: what was put away comes back."""

from pathlib import Path

import click

from worker.cli import door
from worker.settings import Settings


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@door.command
async def restore(settings: Settings, file: Path) -> None:
    """Bring the session of an archive back, with its subagents.

    The file is verified first, and stays where it is.

    \b
    Example:
      holdfast restore ses_….jsonl.gz
    """
    async with door.client(settings) as client:
        session = await client.restore(file.absolute())
    click.echo(f"The session is back: {session}")
