"""Requests of a person that no turn waits for: a title, a summary."""

import asyncio
from contextlib import aclosing
from typing import Final

from worker.api.events import EventWithContents
from worker.cli.command_support import print_note
from worker.cli.render.escaping import escape_prose
from worker.session_client import SessionClient
from worker.stored_contents import note_of
from workflows.domain.events.event import Event
from workflows.domain.events.generations import MessageCompleted
from workflows.domain.events.sessions import AsideFailed, SessionTitled
from workflows.domain.generation import Purpose
from workflows.domain.ids import GenerationId, SessionId

_ANSWER_TIMEOUT: Final = 120.0  # seconds for the model


async def ask(client: SessionClient, session: SessionId, purpose: Purpose, shows_it: str) -> GenerationId | None:
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
