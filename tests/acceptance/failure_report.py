"""The report of a failed acceptance test: printed ends of logs; logs, histories and tables in files."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from temporalio.client import Client
from temporalio.service import RPCError

from activities.store.database import Database
from tests.acceptance import workflow_histories
from tests.harness import ACTOR
from worker.client import Holdfast
from worker.session_client import SessionClient
from worker.settings import Settings
from worker.stack.state_file import Endpoints
from workflows.domain.errors import HoldfastError
from workflows.domain.ids import SessionId, workflow_id

_EVENTS: Final = 60  # of a session that are printed
_WIDTH: Final = 300  # characters of each
_TAIL: Final = 3000  # characters of what a process has written
_TABLES: Final = b"SELECT tablename FROM pg_tables WHERE schemaname = 'holdfast' ORDER BY tablename"


async def report_failure(settings: Settings, endpoints: Endpoints, temporal: Client, directory: Path) -> None:
    """Print the end of each session's log; write logs, histories and tables into the directory."""
    print_line(f"The files of this test are kept in {directory}.")
    try:
        async with Holdfast(settings, endpoints) as holdfast:
            client = holdfast.as_(ACTOR)
            for session in await client.sessions.list_recent():
                await _log(client, session.id, directory)
                await _histories(temporal, session.id, directory)
            await _tables(holdfast.database, directory / "tables")
    except HoldfastError as error:  # the failure may be an unreachable server
        print_line(f"The logs cannot be read: {error}")


def print_line(line: str) -> None:
    print(line, file=sys.stderr)


def print_log(log: Path) -> None:
    """Print the end of a process's log, if there is one."""
    if log.exists():
        print_line(f"{log}:\n{log.read_text()[-_TAIL:]}")


async def _log(client: SessionClient, session: SessionId, directory: Path) -> None:
    log = [seen.record async for seen in client.records.log(session)]
    lines = [f"{record.seq} {record.at} {record.event.model_dump_json()}" for record in log]
    (directory / f"{session}.log").write_text("\n".join(lines))
    print_line(f"The log of {session}:")
    for line in lines[-_EVENTS:]:
        print_line(line[:_WIDTH])


async def _histories(temporal: Client, session: SessionId, directory: Path) -> None:
    with suppress(RPCError):  # no run of it ever began
        for history in await workflow_histories.runs(temporal, workflow_id(session)):
            (directory / f"{session}.{history.run_id}.json").write_text(history.to_json())


async def _tables(database: Database, folder: Path) -> None:
    folder.mkdir()
    for table in [row["tablename"] for row in await database.rows(_TABLES)]:
        rows = await database.rows(f'SELECT to_json(t)::text AS row FROM "{table}" t'.encode())
        (folder / f"{table}.jsonl").write_text("\n".join(row["row"] for row in rows))
