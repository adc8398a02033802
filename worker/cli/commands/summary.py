"""`holdfast summary`: what a session has changed, in a model's words."""

import click

from worker.cli import aside_answers, completers, id_lookup
from worker.cli.command_support import async_command, open_client, print_note
from worker.cli.exit_codes import ExitCode
from worker.cli.render.escaping import escape_prose
from worker.session_client import SessionClient
from worker.settings import Settings
from workflows.domain.generation import Purpose
from workflows.domain.ids import SessionId


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
    asked = await aside_answers.ask(client, session, Purpose.SUMMARY, f"holdfast sessions show {session}")
    if asked is None:
        return None
    found = await client.records.change_summary(session)
    if found is None or found.generation != asked:
        print_note("The model gave no summary.")
        return None
    return found.text
