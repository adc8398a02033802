"""`holdfast title`: how a session is called."""

import asyncio
from contextlib import aclosing
from typing import Final

import click

from worker.api.events import EventWithContents
from worker.cli import completers, id_lookup
from worker.cli.aside_answers import is_answered, print_failure
from worker.cli.command_support import async_command, open_client, print_note
from worker.cli.exit_codes import ExitCode
from worker.cli.render.escaping import one_line
from worker.session_client import SessionClient
from worker.settings import Settings
from worker.stored_contents import note_of
from workflows.domain.events.event import Event
from workflows.domain.events.sessions import SessionTitled
from workflows.domain.ids import GenerationId, SessionId

_ANSWER_TIMEOUT: Final = 60.0  # seconds for the model


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
        given = await client.titles.give(found, " ".join(words)) if words else await _ask(client, found)
    if given is not None:
        click.echo(f"{one_line(given)} ({found})")
    return ExitCode.FAILED if given is None else ExitCode.DONE


async def _ask(client: SessionClient, session: SessionId) -> str | None:
    seq = (await client.sessions.get(session)).seq
    accepted = await client.titles.ask(session)
    try:
        async with asyncio.timeout(_ANSWER_TIMEOUT):
            given = await _answer(client, session, seq, accepted.generation)
    except TimeoutError:
        print_note("The model has not answered yet. If it does, `holdfast sessions` shows the title.")
        return None
    if given is None:
        print_note("The model gave no title: the session keeps its own.")
    return given


async def _answer(client: SessionClient, session: SessionId, seq: int, generation: GenerationId) -> str | None:
    """The title that follows event `seq`; None: the model's answer holds none."""
    async with aclosing(client.records.watch(session, seq)) as watched:
        async for seen in watched:
            if isinstance(seen, EventWithContents) and _ends(seen.record.event, generation):
                print_failure(seen)
                break
    log = [seen async for seen in client.records.log(session, seq)]
    titles = [note_of(seen, seen.record.event.note) for seen in log if isinstance(seen.record.event, SessionTitled)]
    return titles[-1] if titles else None


def _ends(event: Event, generation: GenerationId) -> bool:
    """Or another title has come first."""
    return is_answered(event, generation) or isinstance(event, SessionTitled)
