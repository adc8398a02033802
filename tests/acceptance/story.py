"""What a failed acceptance test leaves to its reader: the logs of its sessions in print, all of them in files."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from temporalio.client import Client
from temporalio.service import RPCError

from tests.acceptance import histories
from tests.house import ACTOR
from worker.bells import workflow_id
from worker.client import SessionClient
from worker.settings import Settings
from worker.stack.state import Endpoints
from workflows.domain.errors import HoldfastError
from workflows.domain.ids import SessionId

_TOLD: Final = 60  # events of a session that are printed
_WIDTH: Final = 300  # characters of each
_TAIL: Final = 3000  # characters of what a process has written


async def tell(settings: Settings, endpoints: Endpoints, temporal: Client, directory: Path) -> None:
    """Print the end of each session's log; write the logs and the histories of all runs into the directory."""
    say(f"The files of this test are kept in {directory}.")
    try:
        async with SessionClient(settings, endpoints, ACTOR) as client:
            for session in await client.sessions():
                await _log(client, session.id, directory)
                await _histories(temporal, session.id, directory)
    except HoldfastError as error:  # what has failed may be that the servers are away
        say(f"The logs cannot be read: {error}")


def say(line: str) -> None:
    print(line, file=sys.stderr)


def show(log: Path) -> None:
    """Print the end of what a process has written, if it got so far."""
    if log.exists():
        say(f"{log}:\n{log.read_text()[-_TAIL:]}")


async def _log(client: SessionClient, session: SessionId, directory: Path) -> None:
    log = [seen.record async for seen in client.log(session)]
    lines = [f"{record.seq} {record.at} {record.event.model_dump_json()}" for record in log]
    (directory / f"{session}.log").write_text("\n".join(lines))
    say(f"The log of {session}:")
    for line in lines[-_TOLD:]:
        say(line[:_WIDTH])


async def _histories(temporal: Client, session: SessionId, directory: Path) -> None:
    with suppress(RPCError):  # no run of it ever began
        for history in await histories.runs(temporal, workflow_id(session)):
            (directory / f"{session}.{history.run_id}.json").write_text(history.to_json())
