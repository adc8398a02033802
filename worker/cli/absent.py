"""Who follows a session is told when it waits for a worker on its host, and when one is there."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from worker.cli.look.standing import absent, waits_for_its_host
from worker.cli.look.text import exact
from worker.client import SessionClient
from workflows.domain.errors import Unavailable
from workflows.domain.ids import SessionId

_LOOK: Final = 3.0  # seconds between two looks


async def tell(client: SessionClient, session: SessionId, say: Callable[[str], None]) -> None:
    """Say so until cancelled, once each time; a session whose host is not named waits for none."""
    waited = False
    while True:
        with suppress(Unavailable):  # whoever follows it says so
            seen = await client.session(session)
            if seen.host is None:
                return
            waits = waits_for_its_host(seen)
            if waits and not waited:
                say(absent(seen))
            if waited and not seen.away:
                say(f"A worker is there on host {exact(seen.host)}.")
                waits = False
            waited = waits or (waited and seen.away)
        await asyncio.sleep(_LOOK)
