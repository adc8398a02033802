"""`holdfast title`: how a session is called."""

import click

from worker.cli import aside_answers, completers, id_lookup
from worker.cli.command_support import async_command, open_client, print_note
from worker.cli.exit_codes import ExitCode
from worker.cli.render.escaping import one_line
from worker.session_client import SessionClient
from worker.settings import Settings
from worker.stored_contents import note_of
from workflows.domain.events.sessions import SessionTitled
from workflows.domain.generation import Purpose
from workflows.domain.ids import SessionId


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
        given = await client.asides.give_title(found, " ".join(words)) if words else await _ask(client, found)
    if given is not None:
        click.echo(f"{one_line(given)} ({found})")
    return ExitCode.FAILED if given is None else ExitCode.DONE


async def _ask(client: SessionClient, session: SessionId) -> str | None:
    """The title that comes; None: the model's answer holds none."""
    seq = (await client.sessions.get(session)).seq
    if await aside_answers.ask(client, session, Purpose.TITLE, "holdfast sessions") is None:
        return None
    log = [seen async for seen in client.records.log(session, seq)]
    titles = [note_of(seen, seen.record.event.note) for seen in log if isinstance(seen.record.event, SessionTitled)]
    if not titles:
        print_note("The model gave no title: the session keeps its own.")
        return None
    return titles[-1]
