"""Begins a session with the messages of a file that another program has written."""

from collections.abc import Callable, Sequence
from typing import Final

from activities.store import copies, sessions
from activities.store.database import Database
from activities.store.sessions import NewSession
from workflows.domain.actor import Actor
from workflows.domain.copied_messages import CopiedAnswer, CopiedPrompt, ImportedSession

_LIMIT: Final = 600.0  # seconds for one statement


async def import_session(
    database: Database, new: NewSession, ids: Sequence[str], make: Callable[[bool], ImportedSession], actor: Actor
) -> ImportedSession:
    """Import a session in one transaction. `new`: the session without id and title. `ids`: all ids in the file; `make`
    gets whether one of them is taken."""
    async with database.statements(limit=_LIMIT) as batch:
        imported = make(bool(await copies.taken_ids(batch, ids)))
        row = new.model_copy(update={"id": imported.id, "title": imported.title})
        journal = await sessions.create_in(batch, database.turn_configs, row, actor)
        if journal is None:
            raise RuntimeError(f"The new session {imported.id!r} is there already.")
        sessions.add_project(batch, row)
        copies.write_turn_config(journal, imported.turn_config)
        copies.write_imported_session(
            journal, imported.info, origin=imported.origin, digest=imported.digest, messages=len(imported.messages)
        )
        for position, message in enumerate(imported.messages):
            if message.turn is not None:
                copies.write_turn(journal, message.turn)
            whole = copies.write_imported_message(journal, message.id, position, message.body)
            match message.seen:
                case CopiedPrompt():
                    copies.write_prompt(journal, message.seen, whole)
                case CopiedAnswer():
                    copies.write_answer(journal, message.seen, whole)
                case None:
                    copies.record_unseen(journal, message.id, message.origin, whole, user=message.user)
        journal.append()
    return imported
