"""Confirmation of what cannot be undone."""

import sys
from typing import Final

import click

from worker.cli import id_lookup
from worker.cli.command_support import confirm
from worker.cli.render.escaping import one_line
from worker.session_client import SessionClient
from workflows.domain.views.sessions import Overview

yes_option: Final = click.option("--yes", is_flag=True, help="Do not ask first.")


async def confirm_session(client: SessionClient, typed: str, question: str, *, yes: bool) -> Overview:
    """Find a session and have the person agree to the `question`.

    Without a terminal, a typed id is agreement; `last` is not, as it may be another session. Raises UsageError,
    NotFound, Abort on a no.
    """
    overview = await client.sessions.get(await id_lookup.find_session(client, typed))
    named = f"{one_line(overview.title)!r} ({overview.id})"
    by_id = typed != id_lookup.LAST and not sys.stdin.isatty()
    refusal = f"`last` is {named}: without a terminal to ask on, name the session by its id, or add --yes."
    confirm(question.format(named), yes=yes or by_id, refusal=refusal)
    return overview
