"""Notes about a host without a worker."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from worker.cli.render.escaping import escape_exact
from worker.cli.render.session_status import describe_absent_worker, waits_for_host
from worker.client import SessionClient
from workflows.domain.errors import Unavailable
from workflows.domain.ids import SessionId

_POLL_INTERVAL: Final = 3.0  # seconds


async def report_absent_worker(client: SessionClient, session: SessionId, print_note: Callable[[str], None]) -> None:
    """Print a note when the worker is gone and when it is back; returns if the session has no host."""
    waited = False
    while True:
        with suppress(Unavailable):  # the follower reports it
            overview = await client.sessions.get(session)
            if overview.host is None:
                return
            waits = waits_for_host(overview)
            if waits and not waited:
                print_note(describe_absent_worker(overview))
            if waited and not overview.host_offline:
                print_note(f"A worker is there on host {escape_exact(overview.host)}.")
                waits = False
            waited = waits or (waited and overview.host_offline)
        await asyncio.sleep(_POLL_INTERVAL)
