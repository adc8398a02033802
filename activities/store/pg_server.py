"""The PostgreSQL server's version and durability."""

from typing import Any, Final, LiteralString

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from activities.store.outages import translate_errors
from activities.store.pg_connect import NETWORK_OPTIONS, connect, validate_url
from workflows.domain.errors import UsageError
from workflows.domain.value import Value

OLDEST_MAJOR: Final = 15
_CONNECT_TIMEOUT: Final = 5  # seconds to connect
_DURABILITY_SETTINGS: Final = ("fsync", "synchronous_commit")  # `off` may lose acknowledged transactions
_QUERY: Final = """
    SELECT current_setting('server_version'), current_setting('server_version_num')::int / 10000,
           array(SELECT name FROM pg_settings WHERE name = ANY(%s) AND setting = 'off' ORDER BY name)
"""


_POOLED_SETTINGS: Final = {  # of a pooler's connections: what our own ask for
    "search_path": "holdfast",
    "lock_timeout": "10s",
    "idle_in_transaction_session_timeout": "5s",
    "jit": "off",
}


class Server(Value):
    """A server that answers; `lossy`: settings that may lose what it has acknowledged."""

    version: str
    major: int
    lossy: tuple[str, ...]


async def inspect_server(url: str) -> Server:
    version, major, lossy = await query_row(url, _QUERY, list(_DURABILITY_SETTINGS))
    return Server(version=version.split()[0], major=major, lossy=tuple(lossy))


async def server_time(url: str) -> float:
    """The server's time, in seconds since 1970."""
    (now,) = await query_row(url, "SELECT extract(epoch FROM clock_timestamp())::float8")
    return float(now)


async def database_size(url: str) -> int:
    """The database's size in bytes."""
    (taken,) = await query_row(url, "SELECT pg_database_size(current_database())")
    return int(taken)


async def query_row(url: str, query: LiteralString, *values: object) -> tuple[Any, ...]:
    """Uses a connection of its own."""
    with translate_errors():
        async with await connect(validate_url(url), connect_timeout=_CONNECT_TIMEOUT) as connection:
            row = await (await connection.execute(query, values)).fetchone()
    assert row is not None
    return row


async def require_server(url: str, *, lossy: bool) -> Server:
    """Raise UsageError for a server that is too old or, unless `lossy`, may lose what it has acknowledged."""
    server = await inspect_server(url)
    if server.major < OLDEST_MAJOR:
        raise UsageError(f"{display_address(url)} is PostgreSQL {server.version}: {OLDEST_MAJOR} or newer is needed.")
    if server.lossy and not lossy:
        raise UsageError(f"{display_address(url)} {describe_risk(server)} {REMEDY}")
    return server


async def require_pooled_settings(url: str) -> None:
    """Raises UsageError for a pooler whose connections lack our settings, for which clients cannot ask."""
    query = "SELECT array(SELECT n FROM unnest(%s::text[], %s::text[]) AS w (n, v) WHERE current_setting(n) <> v)"
    (lacking,) = await query_row(url, query, list(_POOLED_SETTINGS), list(_POOLED_SETTINGS.values()))
    if lacking:
        needed = "; ".join(f"SET {name} = '{_POOLED_SETTINGS[name]}'" for name in lacking)
        raise UsageError(
            f"The connections of HOLDFAST_POSTGRES_POOLER_URL lack settings: {needed}. Give them to the role with "
            "ALTER ROLE … IN DATABASE …, and have the pooler connect anew."
        )


def describe_risk(server: Server) -> str:
    return f"runs with {' and '.join(f'{name}=off' for name in server.lossy)}: a crash may lose what was acknowledged."


REMEDY: Final = "Set it to on, or set HOLDFAST_LOSSY_DATABASE=true to run all the same."


def split_password(url: str) -> tuple[str, str | None]:
    """An address for other programs' arguments, which all users see, and the password apart."""
    known = {**NETWORK_OPTIONS, **conninfo_to_dict(validate_url(url))}
    password = known.pop("password", None)
    rest = {name: str(value) for name, value in known.items() if value is not None}
    return make_conninfo("", **rest), None if password is None else str(password)


def display_address(url: str) -> str:
    """Host, port and name of a database, without credentials and options."""
    known = conninfo_to_dict(validate_url(url))
    return f"{known.get('host', 'localhost')}:{known.get('port', '5432')}/{known.get('dbname', '')}"
