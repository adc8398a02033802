"""`holdfast down --purge`: show what goes, ask, remove."""

import os
from pathlib import Path
from typing import Final

import click

from worker.cli.command_support import confirm, print_note
from worker.cli.render.console import print_rows, terminal_columns
from worker.cli.render.escaping import escape_exact
from worker.cli.render.text_table import format_table
from worker.cli.render.wrap import wrap_text
from worker.settings import Settings
from worker.stack.accounts import SYSTEM_STATE
from worker.stack.purge import PurgeItem, purge, purge_items

_COMPLETIONS: Final = (  # as `completion` names them
    ".local/share/bash-completion/completions/holdfast",
    ".zfunc/_holdfast",
    ".config/fish/completions/holdfast.fish",
)
_STAYS: Final = (
    "The program and your configuration stay. `uv tool uninstall holdfast` removes the program; `uv cache clean` "
    "empties uv's cache, which has the packages of all programs."
)
_REFUSAL: Final = "Nothing was removed. Without a terminal to ask on, --yes is needed."


async def confirm_purge(settings: Settings, *, yes: bool) -> None:
    """Raises UsageError in a pipe without `yes`, Abort on a no."""
    found = purge_items(settings)
    _print_targets(settings, found)
    if found:
        confirm("Remove all of that for good?", yes=yes, refusal=_REFUSAL)


async def run_purge(settings: Settings) -> None:
    """Also names what stays because it is not ours."""
    for path in await purge(settings, purge_items(settings)):
        _print_wrapped(f"Left: {escape_exact(str(path))}", 2)
    click.echo("Removed.")
    if settings.is_default_home:
        for path in filter(Path.exists, _paths_elsewhere(settings)):
            shared = " (PostgreSQL's programs, for all stacks of root)" if path == SYSTEM_STATE else ""
            _print_wrapped(f"Left: {escape_exact(str(path))}{shared}", 2)
        print_note(_STAYS)


def _paths_elsewhere(settings: Settings) -> list[Path]:
    """What others may use, or a person has put there."""
    user = Path(settings.environment.get("HOME") or Path.home())
    of_root = [SYSTEM_STATE] if os.geteuid() == 0 else []
    return [*of_root, *(user / each for each in _COMPLETIONS)]


def _print_targets(settings: Settings, found: list[PurgeItem]) -> None:
    if not found:
        _print_wrapped(f"There is nothing of a stack in {escape_exact(str(settings.home))}.", 2)
    rows = ((f"  {escape_exact(str(each.path))}", each.description) for each in found)
    print_rows(format_table(rows, terminal_columns(err=True)), err=True)
    if settings.postgres_url is not None:
        print_note("The database of HOLDFAST_POSTGRES_URL is not touched.")
    if settings.external_temporal is not None:
        print_note("The Temporal server that is named elsewhere is not touched.")


def _print_wrapped(text: str, indent: int) -> None:
    """A path in the text may be longer than a row."""
    print_rows(wrap_text(text, terminal_columns(err=True), indent), err=True)
