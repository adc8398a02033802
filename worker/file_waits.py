"""Looks at the files that calls wait for."""

import asyncio
import logging
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from activities.calls.subagent import Deliver
from activities.files.fingerprint import FileStamp, file_stamp, fingerprint
from activities.store import waits
from activities.store.database import Database
from activities.store.journal import WORKER, session_journal
from activities.store.waits import OpenFileWait
from worker.background_tasks import every
from workflows.domain.errors import HoldfastError, Unavailable
from workflows.domain.ids import PartId
from workflows.domain.waits import WaitEnd, has_happened

INTERVAL: Final = 5.0  # seconds
_TICK: Final = 2_000_000_000  # nanoseconds: two writes within them may leave the same time stamp
_LOG: Final = logging.getLogger("holdfast.waits")


class FileWaits:
    """Ends waits whose file has changed: those of this `host`, whose workers have the files. Several workers may look:
    a wait ends once."""

    def __init__(self, database: Database, deliver: Deliver, host: str | None) -> None:
        self.database = database
        self.deliver = deliver
        self.host = host
        self._unchanged: dict[PartId, FileStamp | None] = {}  # of files that were as they had been

    async def run(self) -> None:
        await every(INTERVAL, self.look, _LOG)

    async def look(self) -> None:
        """Raises Unavailable."""
        found = await waits.open_files(self.database, self.host)
        self._unchanged = {each.call: self._unchanged[each.call] for each in found if each.call in self._unchanged}
        for each in await asyncio.to_thread(lambda: [wait for wait in found if self._has_changed(wait)]):
            try:
                await self._end(each)
            except HoldfastError as error:  # one session must not delay the others; the next look tries again
                _LOG.info("the wait of %s goes on: %s", each.call, error)

    def _has_changed(self, wait: OpenFileWait) -> bool:
        """A file that cannot be read, or whose project is absent, says nothing."""
        path = Path(wait.subject.path)
        try:
            stamp = file_stamp(path)
            if wait.call in self._unchanged and self._unchanged[wait.call] == stamp:
                return False
            now = fingerprint(path)
            if not Path(wait.directory).is_dir():
                return False
        except OSError as error:
            _LOG.info("%s is not looked at: %s", path, error)
            return False
        if has_happened(wait.subject, now):
            return True
        if stamp is None or time.time_ns() - stamp.modified > _TICK:
            self._unchanged[wait.call] = stamp
        return False

    async def _end(self, wait: OpenFileWait) -> None:
        async with session_journal(self.database, wait.session, WORKER) as journal:
            await journal.locked()
            ended = await waits.end_and_notify(journal, wait.call, WaitEnd.CHANGED)
        if ended:
            with suppress(Unavailable):  # the sweeper sends it
                await self.deliver(wait.session)
