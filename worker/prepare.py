"""Prepares external servers, once before a new version's workers: migrations, search attributes."""

import asyncio
import sys

from activities.store import pg_server
from activities.store.migrate import migrate
from worker.connect import connect, register_attributes
from worker.exit_process import exit_process
from worker.settings import Settings
from worker.stack.status import external_endpoints
from workflows.domain.errors import HoldfastError, UsageError


async def prepare(settings: Settings) -> int:
    """Returns the newest migration's number. Idempotent.

    Raises UsageError without external servers, or if the database may lose acknowledged commits; DatabaseNewer,
    DatabaseForeign, Unavailable.
    """
    addresses = external_endpoints(settings)
    if addresses is None:
        raise UsageError(
            "HOLDFAST_POSTGRES_URL and TEMPORAL_ADDRESS name the servers to prepare; those of the embedded stack are "
            "prepared by `holdfast up`."
        )
    await pg_server.require_server(addresses.postgres_url, lossy=settings.lossy_database)
    number = await migrate(addresses.postgres_url)
    await register_attributes(await connect(settings, addresses))
    return number


def main() -> None:
    """Run as `python -P -m worker.prepare`."""
    code = 0
    try:
        print(f"The servers are prepared, the database is at migration {asyncio.run(prepare(Settings.read()))}.")
    except HoldfastError as error:
        print(f"holdfast prepare: {error}", file=sys.stderr)
        code = 3
    exit_process(code)


if __name__ == "__main__":
    main()
