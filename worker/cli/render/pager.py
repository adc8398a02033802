"""The person's pager, or less."""

import shlex
import shutil
from collections.abc import Mapping, Sequence

import click

_DEFAULT = "less"


def is_available(environment: Mapping[str, str]) -> bool:
    try:
        words = shlex.split(environment.get("PAGER", "")) or [_DEFAULT]
    except ValueError:
        return False
    return shutil.which(words[0]) is not None


def show_rows(rows: Sequence[str]) -> None:
    """Show the rows until the person leaves; picks the pager as click does. Raises OSError."""
    click.echo_via_pager("\n".join(rows))
