"""The client: its payloads, and its servers."""

import asyncio
import socket
import ssl
import subprocess
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from google.protobuf.duration_pb2 import Duration
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest, RegisterNamespaceRequest
from temporalio.client import Client
from temporalio.service import OperatorService, RPCError, RPCStatusCode

from worker.connect import DATA_CONVERTER, connect, count_pollers, register_attributes, set_retention
from worker.settings import Settings
from worker.stack.state_file import Endpoints
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


async def test_a_server_behind_mutual_tls_is_reached_with_the_certificates_that_the_environment_names(
    stack: Endpoints, tmp_path: Path
) -> None:
    make_certificates(tmp_path)
    async with guarded(stack.temporal_address, tmp_path) as address:
        trusting = {"HOME": "/", "TEMPORAL_ADDRESS": address, "TEMPORAL_TLS_SERVER_CA_CERT_PATH": f"{tmp_path}/ca.pem"}
        pair = {"CERT": f"{tmp_path}/us.pem", "KEY": f"{tmp_path}/us.key"}
        ours = {f"TEMPORAL_TLS_CLIENT_{what}_PATH": path for what, path in pair.items()}
        nowhere = Endpoints(postgres_url="", temporal_address="127.0.0.1:9")

        client = await connect(Settings.read(trusting | ours), nowhere)

        assert await client.service_client.check_health()
        with pytest.raises(Unavailable):
            await connect(Settings.read(trusting), nowhere)


def make_certificates(folder: Path) -> None:
    """An authority, and its certificates for the server and for us."""

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    new = ("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl(*new, "-x509", "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=authority")
    (folder / "names").write_text("subjectAltName=DNS:localhost")
    for who in ("server", "us"):
        openssl(*new, "-keyout", f"{who}.key", "-out", f"{who}.csr", "-subj", f"/CN={who}")
        signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", f"{who}.pem", "-extfile", "names")
        openssl("x509", "-req", "-in", f"{who}.csr", *signed)


@asynccontextmanager
async def guarded(target: str, folder: Path) -> AsyncIterator[str]:
    """The address of `target` behind TLS, for clients with a certificate of the authority."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=folder / "ca.pem")
    context.load_cert_chain(folder / "server.pem", folder / "server.key")
    context.verify_mode = ssl.CERT_REQUIRED
    context.set_alpn_protocols(["h2"])
    host, _, port = target.rpartition(":")

    transports: list[asyncio.WriteTransport] = []
    accepted: list[asyncio.Task[None] | None] = []

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.append(asyncio.current_task())
        answers, server = await asyncio.open_connection(host, int(port))
        transports.extend((writer.transport, server.transport))
        await asyncio.gather(_pass_on(reader, server), _pass_on(answers, writer))

    async with await asyncio.start_server(accept, "localhost", 0, ssl=context, family=socket.AF_INET) as server:
        yield f"localhost:{server.sockets[0].getsockname()[1]}"
        server.close()
        while running := [task for task in accepted if task and not task.done()]:  # the client tries again meanwhile
            for transport in transports:
                transport.abort()
            await asyncio.wait(running, timeout=0.05)


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    nowhere = Endpoints(postgres_url="", temporal_address="127.0.0.1:9")

    with pytest.raises(Unavailable, match=r"127\.0\.0\.1:9"):
        await connect(Settings.read({"HOME": "/nowhere"}), nowhere)


async def test_attributes_may_be_registered_again(temporal_client: Client) -> None:
    await register_attributes(temporal_client)


class _Worker(Client):
    """A client whose server forbids operators' calls, as one with an authorizer does."""

    @property
    def operator_service(self) -> OperatorService:
        raise RPCError("Request unauthorized.", RPCStatusCode.PERMISSION_DENIED, b"")


async def test_attributes_that_may_neither_be_listed_nor_added_are_found_by_asking_for_runs(
    temporal_client: Client,
) -> None:
    await register_attributes(_Worker(temporal_client.service_client))

    bare = f"bare-{uuid.uuid4().hex}"
    kept = Duration(seconds=86_400)
    request = RegisterNamespaceRequest(namespace=bare, workflow_execution_retention_period=kept)
    await temporal_client.workflow_service.register_namespace(request)
    with pytest.raises(Unavailable, match=rf"Request unauthorized.*HoldfastSession.*'{bare}' by hand"):
        await register_attributes(_Worker(temporal_client.service_client, namespace=bare))


async def test_a_queue_without_workers_has_no_pollers(temporal_client: Client, task_queue: str) -> None:
    assert await count_pollers(temporal_client, task_queue) == 0


async def test_finished_runs_are_kept_for_so_many_days(temporal_client: Client) -> None:
    await set_retention(temporal_client, 3)
    described = await temporal_client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace="default"))
    assert described.config.workflow_execution_retention_ttl.seconds == 3 * 86_400
