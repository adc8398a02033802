"""What a failpoint does to a connection to PostgreSQL: it cuts it for real, and lets the driver find out."""

import os
import socket
from typing import Any

from psycopg import AsyncConnection


async def cut(connection: AsyncConnection[Any]) -> None:
    """Cut a connection once everything said so far has been carried out. Raises what the driver makes of it."""
    async with connection.pipeline() as pipeline:
        await pipeline.sync()
    with socket.socket(fileno=os.dup(connection.fileno())) as wire:
        wire.shutdown(socket.SHUT_RDWR)
    async with connection.pipeline():
        await connection.execute("SELECT")
