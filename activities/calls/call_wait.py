"""CallWait: a call waits on purpose, as a row."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta

from activities.calls.claim import require_open_claim
from activities.failpoints import failpoint
from activities.store import waits
from activities.store.calls import CallRow
from activities.store.database import Database
from activities.store.journal import WORKER, Journal, session_journal
from workflows.domain.fence import Fence
from workflows.domain.waits import WaitEnd, WaitStatus, WaitSubject


@dataclass(frozen=True)
class CallWait:
    """The wait of one attempt at a call (`activities.tools.tool.WaitHandle`)."""

    database: Database
    call: CallRow
    fence: Fence

    async def begin(self, subject: WaitSubject, until: timedelta | datetime | None, *, met: bool) -> WaitStatus:
        """Raises as `require_open_claim`."""
        async with session_journal(self.database, self.call.session, WORKER, epoch=self.fence.epoch) as journal:
            known = await waits.of_call(journal, self.call.id)
            if known is None:
                await require_open_claim(journal, self.call, self.fence)
                await waits.begin(journal, self.call.id, subject, until)
                if met:
                    await waits.end(journal, self.call.id, WaitEnd.CHANGED)
            await waits.end_if_due(journal, self.call.id)
            begun = await waits.of_call(journal, self.call.id)
        await failpoint("wait.begun", self.call.id)
        if begun is None:
            raise RuntimeError(f"The wait of call {self.call.id!r} was stored and is not there.")
        return begun

    async def status(self) -> WaitStatus | None:
        async with self._journal() as journal:
            await waits.end_if_due(journal, self.call.id)
            return await waits.of_call(journal, self.call.id)

    async def stop(self) -> WaitStatus | None:
        async with self._journal() as journal:
            await waits.end(journal, self.call.id, WaitEnd.STOPPED)
            return await waits.of_call(journal, self.call.id)

    def _journal(self) -> AbstractAsyncContextManager[Journal]:
        """Finishes what an attempt has begun."""
        return session_journal(self.database, self.call.session, WORKER, epoch=self.fence.epoch, needs_newest=False)
