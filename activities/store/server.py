"""The PostgreSQL server as it is: what it calls itself, and whether it keeps what it has acknowledged."""

from typing import Any, Final, LiteralString

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from activities.store.connecting import NETWORK, checked, connect
from activities.store.outages import reaching
from workflows.domain.errors import UsageError
from workflows.domain.value import Value

OLDEST: Final = 15
_PATIENCE: Final = 5  # seconds to connect
_KEEPS: Final = ("fsync", "synchronous_commit")  # of these, `off` loses acknowledged transactions (reliability.md 1)
_QUERY: Final = """
    SELECT current_setting('server_version'), current_setting('server_version_num')::int / 10000,
           array(SELECT name FROM pg_settings WHERE name = ANY(%s) AND setting = 'off' ORDER BY name)
"""


class Server(Value):
    """A server that answers. `lossy` are settings by which it may lose what it has acknowledged."""

    version: str
    major: int
    lossy: tuple[str, ...]


async def look(url: str) -> Server:
    """Ask the server. Raises Unavailable."""
    version, major, lossy = await _asked(url, _QUERY, list(_KEEPS))
    return Server(version=version.split()[0], major=major, lossy=tuple(lossy))


async def clock(url: str) -> float:
    """The server's time, in seconds since 1970. Raises Unavailable."""
    (now,) = await _asked(url, "SELECT extract(epoch FROM clock_timestamp())::float8")
    return float(now)


async def size(url: str) -> int:
    """How many bytes the database takes. Raises Unavailable."""
    (taken,) = await _asked(url, "SELECT pg_database_size(current_database())")
    return int(taken)


async def _asked(url: str, query: LiteralString, *values: object) -> tuple[Any, ...]:
    """The one row of a query, over a connection of its own. Raises Unavailable."""
    with reaching():
        async with await connect(checked(url), connect_timeout=_PATIENCE) as connection:
            row = await (await connection.execute(query, values)).fetchone()
    assert row is not None
    return row


async def require(url: str, *, lossy: bool) -> Server:
    """Refuse a server that is too old, and, unless `lossy`, one that may lose what it has acknowledged.

    Raises UsageError with the way out, Unavailable.
    """
    server = await look(url)
    if server.major < OLDEST:
        raise UsageError(f"{address(url)} is PostgreSQL {server.version}: {OLDEST} or newer is needed.")
    if server.lossy and not lossy:
        raise UsageError(f"{address(url)} {risk(server)} {REMEDY}")
    return server


def risk(server: Server) -> str:
    """What is to be feared of a server that may lose something."""
    return f"runs with {' and '.join(f'{name}=off' for name in server.lossy)}: a crash may lose what was acknowledged."


REMEDY: Final = "Set it to on, or set HOLDFAST_LOSSY_DATABASE=true to run all the same."


def without_password(url: str) -> tuple[str, str | None]:
    """An address for other programs, whose arguments everybody sees, and the password that was in it."""
    known = {**NETWORK, **conninfo_to_dict(checked(url))}
    password = known.pop("password", None)
    rest = {name: str(value) for name, value in known.items() if value is not None}
    return make_conninfo("", **rest), None if password is None else str(password)


def address(url: str) -> str:
    """Where a database is, without who connects and how."""
    known = conninfo_to_dict(checked(url))
    return f"{known.get('host', 'localhost')}:{known.get('port', '5432')}/{known.get('dbname', '')}"
