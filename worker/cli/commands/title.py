"""`holdfast title` and `summary`: what a model says of a session, asked apart from its turns."""

import asyncio
from contextlib import aclosing
from typing import Final

import click

from worker.cli import completers, id_lookup
from worker.cli.command_support import async_command, open_client, print_note
from worker.cli.exit_codes import ExitCode
from worker.cli.render.escaping import escape_prose, one_line
from worker.session_client import SessionClient
from worker.settings import Settings
from worker.stored_contents import note_of
from workflows.domain.events.event import Event
from workflows.domain.events.generations import MessageCompleted
from workflows.domain.events.sessions import AsideFailed, SessionTitled
from workflows.domain.generation import Purpose
from workflows.domain.ids import GenerationId, SessionId
from workflows.domain.views.events import EventWithContents

_ANSWER_TIMEOUT: Final = 120.0  # seconds for the model


@click.command()
@click.argument("session", shell_complete=completers.session)
@click.argument("words", nargs=-1, metavar="[TEXT]...")
@async_command
async def title(settings: Settings, session: str, words: tuple[str, ...]) -> ExitCode:
    """Name a session; without TEXT, have the model rename it.

    No model changes a title that a person has given, unless a person asks it to.

    \b
    Examples:
      holdfast title last the slug fix
      holdfast title last
    """
    async with open_client(settings, with_worker=not words) as client:
        found = await id_lookup.find_session(client, session)
        given = await client.asides.give_title(found, " ".join(words)) if words else await _ask_title(client, found)
    if given is not None:
        click.echo(f"{one_line(given)} ({found})")
    return ExitCode.FAILED if given is None else ExitCode.DONE


async def _ask_title(client: SessionClient, session: SessionId) -> str | None:
    """The title that comes; None: the model's answer holds none."""
    seq = (await client.sessions.get(session)).seq
    if await _ask(client, session, Purpose.TITLE, "holdfast sessions") is None:
        return None
    log = [seen async for seen in client.records.log(session, seq)]
    titles = [note_of(seen, seen.record.event.note) for seen in log if isinstance(seen.record.event, SessionTitled)]
    if not titles:
        print_note("The model gave no title: the session keeps its own.")
        return None
    return titles[-1]


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
        text = await _ask_summary(client, found)
    if text is not None:
        click.echo(escape_prose(text))
    return ExitCode.FAILED if text is None else ExitCode.DONE


async def _ask_summary(client: SessionClient, session: SessionId) -> str | None:
    asked = await _ask(client, session, Purpose.SUMMARY, f"holdfast sessions show {session}")
    if asked is None:
        return None
    found = await client.records.change_summary(session)
    if found is None or found.generation != asked:
        print_note("The model gave no summary.")
        return None
    return found.text


async def _ask(client: SessionClient, session: SessionId, purpose: Purpose, shows_it: str) -> GenerationId | None:
    """Have a model asked, and wait until it has answered or cannot be asked, which is printed; None: not yet.
    `shows_it`: the command that shows a later answer."""
    seq = (await client.sessions.get(session)).seq
    asked = (await client.asides.ask(session, purpose)).generation
    try:
        async with asyncio.timeout(_ANSWER_TIMEOUT), aclosing(client.records.watch(session, seq)) as watched:
            async for seen in watched:
                if isinstance(seen, EventWithContents) and _ends(seen.record.event, asked, purpose):
                    if isinstance(event := seen.record.event, AsideFailed):
                        print_note(escape_prose(note_of(seen, event.note)))
                    break
    except TimeoutError:
        print_note(f"The model has not answered yet. If it does, `{shows_it}` shows it.")
        return None
    return asked


def _ends(event: Event, asked: GenerationId, purpose: Purpose) -> bool:
    """Whether it is the answer or the failure, or another title has come first."""
    if isinstance(event, SessionTitled):
        return purpose is Purpose.TITLE
    return isinstance(event, MessageCompleted | AsideFailed) and event.generation == asked
