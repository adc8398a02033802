"""Logins to a real server, which are renewed while sessions run."""

import asyncio
import sys
from asyncio.subprocess import PIPE, STDOUT

import httpx2
import pytest
from aiohttp import web
from pydantic import SecretStr

from activities.credentials.logins import Login, Logins
from activities.mcp.address import RemoteServer
from activities.mcp.log_in import log_in
from tests.activities.mcp.conftest import Servers
from tests.activities.mcp.test_connection import call
from workflows.domain.config.mcp_settings import McpOAuth
from workflows.domain.errors import CallNotSent, ServerFailed, UsageError
from workflows.domain.mcp import McpStatus


async def log_in_to(port: int, callback_port: int) -> Login:
    """As a person whose browser goes where it is sent."""
    visits = list[asyncio.Task[httpx2.Response]]()

    async def visit(url: str) -> None:
        async def follow() -> httpx2.Response:
            async with httpx2.AsyncClient(follow_redirects=True) as browser:
                return await browser.get(url)

        visits.append(asyncio.create_task(follow()))

    server = RemoteServer(f"http://127.0.0.1:{port}/mcp", {})
    login = await log_in(server, McpOAuth(callback_port=callback_port), visit)
    assert "close this page" in (await visits[0]).text
    return login


@pytest.fixture
def url(free_port: int) -> str:
    return f"http://127.0.0.1:{free_port}/mcp"


async def serve(servers: Servers, port: int, seconds: int) -> None:
    await servers.serve(port, str(seconds), program="with_login.py")


async def test_a_server_without_a_login_names_the_command_and_works_after_it(
    servers: Servers, free_port: int, other_port: int, url: str
) -> None:
    await serve(servers, free_port, 600)
    connection = servers.remote(free_port)
    with pytest.raises(ServerFailed, match="holdfast mcp auth s"):
        await connection.catalogue()
    assert connection.status is McpStatus.NEEDS_AUTH

    await servers.logins.set(url, await log_in_to(free_port, other_port))

    assert await call(connection, "renewals") == "0"
    assert servers.logins.path.stat().st_mode & 0o777 == 0o600


async def test_a_login_is_renewed_before_it_ends_and_when_it_is_refused_and_by_one_alone(
    servers: Servers, free_port: int, other_port: int, url: str
) -> None:
    await serve(servers, free_port, 61)
    await servers.logins.set(url, await log_in_to(free_port, other_port))
    await asyncio.sleep(1.1)  # then less than a minute is left
    mine, theirs = servers.remote(free_port), servers.remote(free_port, timeout=1000)

    counts = await asyncio.gather(call(mine, "renewals"), call(theirs, "renewals"))
    assert [*counts] == ["1", "1"]

    before = servers.logins.get(url)
    assert await call(mine, "forget") == "done"
    counts = await asyncio.gather(call(mine, "renewals"), call(theirs, "renewals"))
    assert [*counts] == ["2", "2"] and servers.logins.get(url) != before


async def test_a_login_that_cannot_be_renewed_ends_no_call_in_doubt(
    servers: Servers, free_port: int, other_port: int, url: str
) -> None:
    await serve(servers, free_port, 600)
    login = await log_in_to(free_port, other_port)
    await servers.logins.set(url, login)
    connection = servers.remote(free_port)
    assert await call(connection, "forget") == "done"
    await servers.logins.set(url, login.model_copy(update={"refresh_token": SecretStr("another")}))

    with pytest.raises(CallNotSent):
        await call(connection, "renewals")

    await asyncio.sleep(0.2)
    assert connection.status is McpStatus.NEEDS_AUTH and "Its login has ended" in connection.reason


async def test_a_damaged_file_is_named_and_none_of_it_is_quoted(servers: Servers) -> None:
    servers.logins.path.write_text('{"u": {"access_token": "t0ken"}}')

    with pytest.raises(UsageError) as caught:
        Logins(servers.logins.path).get("u")

    assert "t0ken" not in str(caught.value) and "log in again" in str(caught.value)


async def test_a_login_that_the_server_refuses_is_one_sentence(free_port: int, other_port: int) -> None:
    async def refuse(request: web.BaseRequest) -> web.Response:
        return web.Response(status=401 if request.path == "/mcp" else 404)

    server = web.ServerRunner(web.Server(refuse))
    await server.setup()
    await web.TCPSite(server, "127.0.0.1", free_port).start()
    program = f"""
import asyncio
import sys
from asyncio.subprocess import PIPE, STDOUT
from activities.mcp.address import RemoteServer
from activities.mcp.log_in import log_in
from workflows.domain.config.mcp_settings import McpOAuth
from workflows.domain.errors import ServerFailed

try:
    server = RemoteServer("http://127.0.0.1:{free_port}/mcp", {{}})
    asyncio.run(log_in(server, McpOAuth(callback_port={other_port}), print))
except ServerFailed as error:
    print(error)
"""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=PIPE, stderr=STDOUT)
    shown, _ = await process.communicate()
    await server.cleanup()

    assert shown.decode().strip() == "Registration failed: 404"
