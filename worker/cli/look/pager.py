"""A pager for what is longer than the terminal: the one that a person has chosen, or less."""

import shlex
import shutil
from collections.abc import Mapping, Sequence

import click

_DEFAULT = "less"


def is_there(environment: Mapping[str, str]) -> bool:
    """Whether there is one."""
    try:
        words = shlex.split(environment.get("PAGER", "")) or [_DEFAULT]
    except ValueError:
        return False
    return shutil.which(words[0]) is not None


def show(rows: Sequence[str]) -> None:
    """Show the rows until the person leaves; click finds the same pager. Raises OSError."""
    click.echo_via_pager("\n".join(rows))
