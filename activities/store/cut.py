"""What a failpoint does to a connection to PostgreSQL: it cuts it for real, and lets the driver find out."""

from typing import Any

from psycopg import AsyncConnection

from activities.store.wire import break_wire


async def cut(connection: AsyncConnection[Any]) -> None:
    """Cut a connection once everything said so far has been carried out. Raises what the driver makes of it."""
    async with connection.pipeline() as pipeline:
        await pipeline.sync()
    break_wire(connection)
    async with connection.pipeline():
        await connection.execute("SELECT")
