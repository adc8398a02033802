"""Prepares servers that run elsewhere: migrations and search attributes, once before the workers of a new version."""

import asyncio
import sys

from activities.store import server
from activities.store.migrate import migrate
from worker import release
from worker.connect import connect, register_attributes
from worker.leaving import leave
from worker.settings import Settings
from worker.stack.status import external
from workflows.domain.errors import HoldfastError, UsageError


async def prepare(settings: Settings) -> int:
    """Bring the external servers to what this version needs; the number of the newest migration.

    Doing it again changes nothing. Raises UsageError when no external servers are named, or the database may lose
    what it has acknowledged; DatabaseNewer, DatabaseForeign, Unavailable.
    """
    places = external(settings)
    if places is None:
        raise UsageError(
            "HOLDFAST_POSTGRES_URL and TEMPORAL_ADDRESS name the servers to prepare; those of the embedded stack are "
            "prepared by `holdfast up`."
        )
    await server.require(places.postgres_url, lossy=settings.lossy_database)
    number = await migrate(places.postgres_url)
    await register_attributes(await connect(settings, places))
    return number


def main() -> None:
    """Run as `python -P -m worker.prepare`."""
    if "--version" in sys.argv[1:]:
        print(f"holdfast {release.mine()}")
        return
    code = 0
    try:
        print(f"The servers are prepared, the database is at migration {asyncio.run(prepare(Settings.read()))}.")
    except HoldfastError as error:
        print(f"holdfast prepare: {error}", file=sys.stderr)
        code = 3
    leave(code)


if __name__ == "__main__":
    main()
