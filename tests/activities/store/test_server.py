"""What a server says of itself, and what it is refused for."""

import psycopg
import pytest

from activities.store import server
from workflows.domain.errors import Unavailable, UsageError


@pytest.fixture
def lossy_url(postgres_url: str) -> str:
    """A database whose transactions are acknowledged before they are on disk."""
    with psycopg.connect(postgres_url) as connection:
        connection.execute(f"ALTER DATABASE {connection.info.dbname} SET synchronous_commit = off")
    return postgres_url


async def test_a_server_tells_its_version_and_keeps_what_it_acknowledges(postgres_url: str) -> None:
    found = await server.require(postgres_url, lossy=False)

    assert found.major >= server.OLDEST and found.version.startswith(str(found.major)) and found.lossy == ()


async def test_a_server_that_may_lose_what_it_acknowledged_is_refused_with_the_way_out(lossy_url: str) -> None:
    with pytest.raises(UsageError, match="synchronous_commit=off.*HOLDFAST_LOSSY_DATABASE=true"):
        await server.require(lossy_url, lossy=False)


async def test_who_wants_such_a_server_all_the_same_gets_it(lossy_url: str) -> None:
    assert (await server.require(lossy_url, lossy=True)).lossy == ("synchronous_commit",)


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="Connection refused"):
        await server.look("postgresql://nobody@127.0.0.1:9/none")


async def test_an_address_that_is_none_is_refused_without_being_quoted() -> None:
    with pytest.raises(UsageError, match="postgresql://USER") as raised:
        await server.look("user:secret")

    assert "secret" not in str(raised.value)


def test_an_address_is_shown_without_its_password() -> None:
    assert server.address("postgresql://me:secret@db.example:6000/work") == "db.example:6000/work"
