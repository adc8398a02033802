"""The client: its payloads, and the servers that it finds."""

import pytest
from temporalio.client import Client

from worker.connect import DATA_CONVERTER, connect, pollers, register_attributes
from worker.settings import Settings
from worker.stack.state import Endpoints
from workflows.domain.errors import Unavailable
from workflows.domain.value import Value


class _Probe(Value):
    name: str
    later: int = 0


async def test_what_was_never_set_stays_out_of_the_history() -> None:
    payload = DATA_CONVERTER.payload_converter.to_payloads([_Probe(name="x")])[0]

    assert payload.data == b'{"name":"x"}'


async def test_an_external_server_is_found_by_its_address_whatever_the_stack_says(stack: Endpoints) -> None:
    settings = Settings.read({"HOME": "/nowhere", "TEMPORAL_ADDRESS": stack.temporal_address})
    elsewhere = Endpoints(postgres_url="", temporal_address="127.0.0.1:9")

    client = await connect(settings, elsewhere)

    assert await client.service_client.check_health()


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    nowhere = Endpoints(postgres_url="", temporal_address="127.0.0.1:9")

    with pytest.raises(Unavailable, match=r"127\.0\.0\.1:9"):
        await connect(Settings.read({"HOME": "/nowhere"}), nowhere)


async def test_attributes_may_be_registered_again(temporal_client: Client) -> None:
    await register_attributes(temporal_client)


async def test_a_queue_without_workers_has_no_pollers(temporal_client: Client, task_queue: str) -> None:
    assert await pollers(temporal_client, task_queue) == 0
