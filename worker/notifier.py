"""The notifier: runs a person's own command when an ask waits or a task ends, also when no terminal is open."""

import asyncio
import json
import logging
import os
import shlex
import signal
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import suppress
from typing import Final

from activities.redact import Redactor
from activities.store import notices
from activities.store.database import Database
from worker.settings import Settings
from workflows.domain.errors import Unavailable

EVERY: Final = 2.0  # seconds between two looks
PASSED_OVER: Final = 30.0  # seconds after which nobody is told any more where there is no command
_AT_ONCE: Final = 10  # notices of one look; what is more, is told as a number
_PATIENCE: Final = 10.0  # seconds for the command
_LOG: Final = logging.getLogger("holdfast.notifier")


class Notifier:
    """Tells each thing once at most, over all workers and restarts; nothing waits for it, its failures harm nobody."""

    def __init__(self, database: Database, settings: Settings, redactor: Redactor) -> None:
        self.database = database
        self.redactor = redactor
        self.command = shlex.split(settings.notify or "")
        self.directory = settings.home
        self.host = settings.host
        secret = {settings.postgres_url, *settings.secrets()}
        self.environment = {name: value for name, value in settings.environment.items() if value not in secret}

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            try:
                await self.look()
            except Unavailable as error:
                _LOG.info("nobody was told: %s", error)
            except Exception:  # nobody would notice its end
                _LOG.exception("nobody was told")
            await asyncio.sleep(EVERY if self.command else PASSED_OVER)

    async def look(self) -> None:
        """Tell what is due: the first ones each, the rest as a number.

        Without a command, what comes up on this host is passed over, so that the first one that is set is told what
        comes up from then on. What is recent is left to another worker, and what comes up on another host to those
        there: they may have a command, and be away for a while.
        """
        if not self.command:
            await notices.pass_over(self.database, self.host, PASSED_OVER)
            return
        found = await notices.due(self.database)
        for notice in found[:_AT_ONCE]:
            await self.tell(notice.model_dump_json())
        if len(found) > _AT_ONCE:
            await self.tell(json.dumps({"type": "more", "count": len(found) - _AT_ONCE}))

    async def tell(self, notice: str) -> None:
        """Run the command with a notice on its standard input; it ends with its whole group when it takes too long."""
        try:
            process = await asyncio.create_subprocess_exec(
                *self.command,
                stdin=PIPE,
                stdout=DEVNULL,
                stderr=DEVNULL,
                cwd=self.directory,
                env=self.environment,
                start_new_session=True,
            )
        except OSError as error:
            _LOG.warning("HOLDFAST_NOTIFY cannot be run: %s", error)
            return
        try:
            async with asyncio.timeout(_PATIENCE):
                await process.communicate(f"{self.redactor.text(notice)}\n".encode())
        except TimeoutError:
            _LOG.warning("the command of HOLDFAST_NOTIFY took more than %.0f s and was ended", _PATIENCE)
        finally:
            with suppress(ProcessLookupError):  # what it has left behind, too
                os.killpg(process.pid, signal.SIGKILL)
        if await process.wait():
            _LOG.warning("the command of HOLDFAST_NOTIFY ended with code %s", process.returncode)
