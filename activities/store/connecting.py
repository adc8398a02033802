"""Connecting: the one way to PostgreSQL, by which a server that has fallen silent is noticed."""

import math
from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict

from activities.store.wire import Connection
from workflows.domain.errors import UsageError

PATIENCE: Final = 10.0  # seconds for a connection
# What the system does about a silent network, on our side; an address that names one of them has its own way.
NETWORK: Final = {
    "tcp_user_timeout": 10_000,  # milliseconds in which what we have sent has to be acknowledged
    "keepalives_idle": 10,  # seconds
    "keepalives_interval": 5,
    "keepalives_count": 3,
}
_OPTIONS: Final = (
    "-c search_path=holdfast -c lock_timeout=10s -c idle_in_transaction_session_timeout=60s "
    "-c tcp_user_timeout=10s -c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3 "
    "-c jit=off"  # none of our queries runs for so long that compiling it would pay
)


def checked(url: str) -> str:
    """An address that names a database. Raises UsageError, which does not quote it: it may hold a password."""
    _parts(url)
    return url


def parameters(url: str, *, patience: float = PATIENCE, settings: str = "") -> dict[str, Any]:
    """What goes with an address into a connection for our queries; `settings` are more of the server's (`-c …`)."""
    own = _parts(url).get("options")
    options = " ".join(filter(None, (own, _OPTIONS, settings)))
    return network(url, patience=patience) | {"options": options, "autocommit": True}


def network(url: str, *, patience: float = PATIENCE) -> dict[str, Any]:
    """How long anything may take that goes over the network, where the address does not say it."""
    given = _parts(url)
    limits = NETWORK | {"connect_timeout": math.ceil(patience)}
    return {name: value for name, value in limits.items() if name not in given}


async def connect(url: str, **more: Any) -> Connection:
    """A connection outside of the pool, for the block; with `parameters`, or bare."""
    return await Connection.connect(url, **(network(url) | more))


def _parts(url: str) -> dict[str, Any]:
    try:
        return dict(conninfo_to_dict(url))
    except psycopg.ProgrammingError:
        raise UsageError(
            "HOLDFAST_POSTGRES_URL is no address of a database: postgresql://USER:PASSWORD@HOST:PORT/DATABASE."
        ) from None
