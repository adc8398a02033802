"""Connects to PostgreSQL with limits that reveal a silent server."""

import math
from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict

from activities.store.pg_protocol import PipelinedConnection
from workflows.domain.errors import UsageError

CONNECT_TIMEOUT: Final = 10.0  # seconds for a connection
# How we notice a silent network; an address may override these.
NETWORK_OPTIONS: Final = {
    "tcp_user_timeout": 10_000,  # milliseconds until sent data must be acknowledged
    "keepalives_idle": 10,  # seconds
    "keepalives_interval": 5,
    "keepalives_count": 3,
}
# A frozen process keeps what its transaction has locked for the idle time.
_OPTIONS: Final = (
    "-c search_path=holdfast -c lock_timeout=10s -c idle_in_transaction_session_timeout=5s "
    "-c tcp_user_timeout=10s -c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3 "
    "-c jit=off"  # our queries are too short for compiling to pay
)


def validate_url(url: str) -> str:
    """Raises UsageError for an invalid address, which it does not quote: it may hold a password."""
    _parts(url)
    return url


def connection_options(
    url: str, *, connect_timeout: float = CONNECT_TIMEOUT, settings: str = "", pooled: bool = False
) -> dict[str, Any]:
    """For our queries; `settings`: more of the server's (`-c …`). `pooled`: by a pooler, which takes none of them."""
    known = network_options(url, connect_timeout=connect_timeout) | {"autocommit": True}
    if pooled:
        return known
    own = _parts(url).get("options")
    return known | {"options": " ".join(filter(None, (own, _OPTIONS, settings)))}


def network_options(url: str, *, connect_timeout: float = CONNECT_TIMEOUT) -> dict[str, Any]:
    """The limits that the address does not name."""
    given = _parts(url)
    limits = NETWORK_OPTIONS | {"connect_timeout": math.ceil(connect_timeout)}
    return {name: value for name, value in limits.items() if name not in given}


async def connect(url: str, **more: Any) -> PipelinedConnection:
    """A connection outside the pool; `more`: its options."""
    return await PipelinedConnection.connect(url, **(network_options(url) | more))


def _parts(url: str) -> dict[str, Any]:
    try:
        return dict(conninfo_to_dict(url))
    except psycopg.ProgrammingError:
        raise UsageError(
            "HOLDFAST_POSTGRES_URL or HOLDFAST_POSTGRES_POOLER_URL is no address of a database: "
            "postgresql://USER:PASSWORD@HOST:PORT/DATABASE."
        ) from None
