"""Connections notice a silent network, by the address's settings or ours."""

import pytest

from activities.store.database import Database
from activities.store.pg_connect import NETWORK_OPTIONS, connection_options, network_options, validate_url
from workflows.domain.errors import UsageError

URL = "postgresql://me@db/holdfast"


def test_the_system_breaks_a_silent_connection_within_seconds() -> None:
    limits = {"tcp_user_timeout": 10_000, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}
    assert limits == NETWORK_OPTIONS and network_options(URL, connect_timeout=7.5) == limits | {"connect_timeout": 8}


def test_network_options_of_an_address_are_kept() -> None:
    found = network_options(f"{URL}?keepalives_idle=60&connect_timeout=3")
    assert not {"keepalives_idle", "connect_timeout"} & set(found) and found["tcp_user_timeout"] == 10_000


def test_options_of_an_address_come_before_ours() -> None:
    options = connection_options(f"{URL}?options=-c%20work_mem%3D8MB", settings="-c idle_session_timeout=3s")["options"]
    assert options.startswith("-c work_mem=8MB -c search_path=holdfast ") and options.endswith(
        "idle_session_timeout=3s"
    )


async def test_the_server_breaks_a_silent_connection_as_soon(postgres_url: str) -> None:
    async with Database(postgres_url) as database:
        (row,) = await database.rows(b"SELECT current_setting('tcp_keepalives_idle') AS over_a_network")
    assert row == {"over_a_network": "0"}  # a socket of this machine needs none


@pytest.mark.parametrize("url", ["nonsense here", "postgresql://[::1"])
def test_an_invalid_address_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(UsageError, match="HOLDFAST_POSTGRES_URL"):
        validate_url(url)
    with pytest.raises(UsageError):
        Database(url)
