"""`holdfast summary`: what a session has changed, in a model's words."""

import asyncio
from contextlib import aclosing
from typing import Final

import click

from worker.api.events import EventWithContents
from worker.cli import completers, id_lookup
from worker.cli.aside_answers import is_answered, print_failure
from worker.cli.command_support import async_command, open_client, print_note
from worker.cli.exit_codes import ExitCode
from worker.cli.render.escaping import escape_prose
from worker.session_client import SessionClient
from worker.settings import Settings
from workflows.domain.ids import SessionId

_ANSWER_TIMEOUT: Final = 120.0  # seconds for the model


@click.command()
@click.argument("session", shell_complete=completers.session)
@async_command
async def summary(settings: Settings, session: str) -> ExitCode:
    """Have a model say what a session has changed.

    It writes two or three sentences from the conversation, as for a pull request: the hidden agent `summary` does, by
    its own model, else by `small_model`, else by the session's. `sessions show` shows them again.

    \b
    Example:
      holdfast summary last
    """
    async with open_client(settings, with_worker=True) as client:
        found = await id_lookup.find_session(client, session)
        text = await _ask(client, found)
    if text is not None:
        click.echo(escape_prose(text))
    return ExitCode.FAILED if text is None else ExitCode.DONE


async def _ask(client: SessionClient, session: SessionId) -> str | None:
    seq = (await client.sessions.get(session)).seq
    accepted = await client.summaries.ask(session)
    try:
        async with asyncio.timeout(_ANSWER_TIMEOUT), aclosing(client.records.watch(session, seq)) as watched:
            async for seen in watched:
                if isinstance(seen, EventWithContents) and is_answered(seen.record.event, accepted.generation):
                    print_failure(seen)
                    break
    except TimeoutError:
        print_note(f"The model has not answered yet. If it does, `holdfast sessions show {session}` shows it.")
        return None
    found = await client.records.change_summary(session)
    if found is None or found.generation != accepted.generation:
        print_note("The model gave no summary.")
        return None
    return found.text
