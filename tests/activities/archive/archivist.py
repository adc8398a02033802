"""An archivist as a process of its own, which a test has killed at one of its moments."""

import asyncio
import os
import sys
from pathlib import Path

from activities import failpoints
from activities.archive.archiving import Archivist
from activities.store.database import Database
from workflows.domain.ids import SessionId


async def main(url: str, data: str, session: str) -> None:
    failpoints.configure(os.environ)
    async with Database(url) as database:
        await Archivist(database, Path(data)).one(SessionId(session))


asyncio.run(main(*sys.argv[1:]))
