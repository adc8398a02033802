"""An archiver process, killed by a test at one of its failpoints."""

import asyncio
import os
import sys
from pathlib import Path

from activities import failpoints
from activities.archive.archiver import Archiver
from activities.store.database import Database
from workflows.domain.ids import SessionId


async def main(url: str, data: str, session: str) -> None:
    failpoints.configure(os.environ)
    async with Database(url) as database:
        await Archiver(database, Path(data)).archive_one(SessionId(session))


asyncio.run(main(*sys.argv[1:]))
