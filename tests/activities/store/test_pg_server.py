"""A server's properties, and reasons to refuse it."""

import psycopg
import pytest

from activities.store import pg_server
from workflows.domain.errors import Unavailable, UsageError


@pytest.fixture
def lossy_url(postgres_url: str) -> str:
    """A database whose transactions are acknowledged before they are on disk."""
    with psycopg.connect(postgres_url) as connection:
        connection.execute(f"ALTER DATABASE {connection.info.dbname} SET synchronous_commit = off")
    return postgres_url


async def test_a_durable_server_reports_its_version(postgres_url: str) -> None:
    found = await pg_server.require_server(postgres_url, lossy=False)

    assert found.major >= pg_server.OLDEST_MAJOR and found.version.startswith(str(found.major)) and found.lossy == ()


async def test_a_server_that_may_lose_transactions_is_refused_with_advice(lossy_url: str) -> None:
    with pytest.raises(UsageError, match="synchronous_commit=off.*HOLDFAST_LOSSY_DATABASE=true"):
        await pg_server.require_server(lossy_url, lossy=False)


async def test_a_server_that_may_lose_transactions_is_accepted_on_request(lossy_url: str) -> None:
    assert (await pg_server.require_server(lossy_url, lossy=True)).lossy == ("synchronous_commit",)


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="Connection refused"):
        await pg_server.inspect_server("postgresql://nobody@127.0.0.1:9/none")


async def test_an_invalid_address_is_refused_without_being_quoted() -> None:
    with pytest.raises(UsageError, match="postgresql://USER") as raised:
        await pg_server.inspect_server("user:secret")

    assert "secret" not in str(raised.value)


def test_an_address_is_shown_without_its_password() -> None:
    assert pg_server.display_address("postgresql://me:secret@db.example:6000/work") == "db.example:6000/work"
