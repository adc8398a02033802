"""Cuts a connection below the driver, as failpoints do."""

from typing import Any

from psycopg import AsyncConnection

from activities.store.pg_protocol import shut_socket


async def cut_connection(connection: AsyncConnection[Any]) -> None:
    """Cut after the server executed what was sent so far. Raises the driver's error."""
    async with connection.pipeline() as pipeline:
        await pipeline.sync()
    shut_socket(connection)
    async with connection.pipeline():
        await connection.execute("SELECT")
