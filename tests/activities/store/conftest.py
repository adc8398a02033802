"""A session that has only its row."""

import pytest

from activities.new_ids import new_id
from activities.store import sessions
from activities.store.database import Database
from activities.store.sessions import NewSession
from workflows.domain.actor import Actor
from workflows.domain.ids import Prefix, SessionId

ACTOR = Actor(subject="tester@here", method="test")


@pytest.fixture
async def session(database: Database) -> SessionId:
    new = NewSession(id=SessionId(new_id(Prefix.SESSION)), directory="/p", title="A session")
    await sessions.create(database, new, ACTOR)
    return new.id
