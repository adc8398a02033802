"""Runs a person's own command when an ask opens or a task ends."""

import json
import logging
import shlex
from asyncio.subprocess import DEVNULL, PIPE
from typing import Any, Final

from activities.child_process import running_child
from activities.redact import Redactor
from activities.store import pending_notifications
from activities.store.database import Database
from worker.background_tasks import every
from worker.settings import Settings

INTERVAL: Final = 2.0  # seconds between polls
SKIP_AGE: Final = 30.0  # seconds; without a command, older notices are skipped
_MAX_PER_POLL: Final = 10  # the rest become a count
_COMMAND_TIMEOUT: Final = 10.0  # seconds
_LOG: Final = logging.getLogger("holdfast.notifier")


class Notifier:
    """Sends each notice of an ask or ended task at most once, over all workers and restarts. Nothing waits for it or
    fails with it."""

    def __init__(self, database: Database, settings: Settings, redactor: Redactor) -> None:
        self.database = database
        self.redactor = redactor
        self.command = shlex.split(settings.notify or "")
        self.directory = settings.home
        self.host = settings.host
        secret = {settings.postgres_url, settings.postgres_pooler_url, *settings.secrets()}
        self.environment = {name: value for name, value in settings.environment.items() if value not in secret}

    async def run(self) -> None:
        await every(INTERVAL if self.command else SKIP_AGE, self.poll, _LOG)

    async def poll(self) -> None:
        """Send the first due notices each, the rest as a number.

        Without a command, skip this host's older notices, or the first command set would get them; other workers may
        have one for recent ones.
        """
        if not self.command:
            await pending_notifications.skip_older(self.database, self.host, SKIP_AGE)
            return
        found = await pending_notifications.take_due(self.database)
        for notice in found[:_MAX_PER_POLL]:
            await self.run_command(notice.model_dump_json())
        if len(found) > _MAX_PER_POLL:
            await self.run_command(json.dumps({"type": "more", "count": len(found) - _MAX_PER_POLL}))

    async def run_command(self, notice: str) -> None:
        """The notice is its standard input; kills it with its children at its end, or on timeout."""
        program: dict[str, Any] = {"directory": self.directory, "environment": self.environment}
        streams = {"stdin": PIPE, "stdout": DEVNULL}
        try:
            async with running_child(*self.command, timeout=_COMMAND_TIMEOUT, **program, **streams) as process:
                await process.communicate(f"{self.redactor.text(notice)}\n".encode())
        except TimeoutError:
            _LOG.warning("the command of HOLDFAST_NOTIFY took more than %.0f s and was ended", _COMMAND_TIMEOUT)
        except OSError as error:
            _LOG.warning("HOLDFAST_NOTIFY cannot be run: %s", error)
        else:
            if process.returncode:
                _LOG.warning("the command of HOLDFAST_NOTIFY ended with code %s", process.returncode)
