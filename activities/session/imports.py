"""Begins a session with the messages of a file that another program has written."""

from collections.abc import Callable, Sequence
from typing import Final

from activities.store import copies, sessions
from activities.store.database import Database
from activities.store.journal import announce
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
        copies.record_import(journal, imported.info, origin=imported.origin, digest=imported.digest)
        for turn in imported.turns:
            copies.write_turn(journal, turn)
        for message in imported.messages:
            kept = copies.keep_unknown(journal, message.id, message.unknown) if message.unknown else None
            match message.seen:
                case CopiedPrompt():
                    copies.write_prompt(journal, message.seen, kept)
                case CopiedAnswer():
                    copies.write_answer(journal, message.seen, kept)
                case None if kept is not None:
                    copies.record_unseen(journal, message.id, message.origin, kept, user=message.user)
        journal.append()
    announce(database, journal)
    return imported
