"""A connection to a real server: its lists, its calls, and what it does when the server ends."""

import asyncio
import sys
from typing import Any

import pytest
from mcp_types import CallToolResult, TextContent

from activities.mcp.connection import Connection
from tests.activities.mcp.conftest import SERVERS, Servers
from workflows.domain.errors import CallNotSent, CallUnanswered, ServerFailed
from workflows.domain.mcp import McpStatus


async def unseen(done: float, total: float | None, message: str | None) -> None:
    """Progress that nobody watches."""


async def call(connection: Connection, tool: str, limit: float = 10.0, **arguments: Any) -> str:
    answer = await connection.call("prt_1", tool, arguments, limit=limit, show=unseen)
    assert isinstance(answer, CallToolResult) and isinstance(answer.content[0], TextContent)
    return answer.content[0].text


async def test_a_local_server_is_started_and_its_lists_are_read(servers: Servers) -> None:
    connection = servers.local("stdio")

    catalogue = await connection.catalogue()

    assert {each.name for each in catalogue.tools} >= {"add", "slow", "die"}
    (add,) = (each for each in catalogue.tools if each.name == "add")
    assert (add.description, add.read_only, add.parameters["required"]) == ("Add two numbers.", True, ["a", "b"])
    assert [(each.name, each.arguments) for each in catalogue.prompts] == [("greet", ("name",))]
    assert (catalogue.has_resources, catalogue.instructions) == (True, "Add with `add`.")
    assert (catalogue.version, connection.status) == ("everyday 1.0", McpStatus.CONNECTED)
    assert await call(connection, "add", a=1, b=2) == "3"


async def test_progress_extends_a_calls_time_and_silence_ends_it(servers: Servers) -> None:
    connection = servers.local("stdio")
    seen = list[str | None]()

    async def show(done: float, total: float | None, message: str | None) -> None:
        seen.append(message)

    answer = await connection.call("prt_1", "slow", {"seconds": 3}, limit=1.5, show=show)
    assert isinstance(answer, CallToolResult) and not answer.is_error and seen[:2] == ["step 0", "step 1"]

    with pytest.raises(CallUnanswered, match="neither answered nor shown progress"):
        await call(connection, "silent", 0.5, seconds=60)
    assert await call(connection, "add", a=1, b=2) == "3"  # the server has heard of the end


async def test_a_server_that_ends_in_a_call_leaves_it_unanswered_and_is_started_again(servers: Servers) -> None:
    connection = servers.local("stdio")
    await connection.catalogue()

    ends = await asyncio.gather(call(connection, "die"), call(connection, "silent", seconds=60), return_exceptions=True)

    assert all(isinstance(each, CallUnanswered) for each in ends)
    assert await call(connection, "add", a=2, b=2) == "4"


async def test_an_answer_that_is_too_large_ends_the_connection_and_no_more(servers: Servers) -> None:
    connection = servers.local("stdio")

    with pytest.raises(CallUnanswered):
        await call(connection, "large", size=17_000_000)

    assert await call(connection, "add", a=2, b=2) == "4"


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (("/nonexistent/server",), "No such file"),
        (("sh", "-c", "echo 'no key' >&2; exit 3"), "no key"),
        (("sleep", "60"), "did not answer in time"),
    ],
)
async def test_a_server_that_does_not_start_says_why(servers: Servers, argv: tuple[str, ...], reason: str) -> None:
    connection = servers.local(*argv[1:], program=argv[0], limit=1, protocol="legacy")

    with pytest.raises(ServerFailed, match=reason):
        await connection.catalogue()

    assert connection.status is McpStatus.FAILED
    with pytest.raises(ServerFailed, match=reason):  # without another wait
        async with asyncio.timeout(0.5):
            await connection.peek()
    with pytest.raises(CallNotSent, match=reason):
        await call(connection, "add", a=1, b=2)


async def test_settings_reach_the_program_with_their_references_resolved(servers: Servers) -> None:
    connection = servers.local("stdio", environment={"TOKEN": "{env:SECRET}"}, cwd="sub")
    (servers.folder / "sub").mkdir()

    assert await call(connection, "variable", name="TOKEN") == "s3cret-token-1"
    assert await call(connection, "variable", name="HOME") == "/nonexistent"
    assert await call(connection, "variable", name="PWD_NOW") == str(servers.folder / "sub")
    assert await call(connection, "variable", name="PYTEST_CURRENT_TEST") == ""


async def test_a_remote_server_that_goes_away_and_comes_back(servers: Servers, free_port: int) -> None:
    process = await servers.serve(free_port)
    connection = servers.remote(free_port, headers={"X-Key": "{env:SECRET}"})
    assert await call(connection, "add", a=1, b=2) == "3"

    ends = await asyncio.gather(call(connection, "die"), call(connection, "silent", seconds=60), return_exceptions=True)
    assert all(isinstance(each, CallUnanswered) for each in ends)
    await process.wait()
    with pytest.raises(CallNotSent):
        await call(connection, "add", a=1, b=2)

    process = await servers.serve(free_port)
    assert await call(connection, "add", a=2, b=2) == "4"
    process.kill()
    await process.wait()
    with pytest.raises(CallNotSent):  # it was refused, and has not run
        await call(connection, "add", a=1, b=2)


async def test_an_unknown_tool_is_the_servers_answer(servers: Servers) -> None:
    assert "Unknown tool" in await call(servers.local("stdio"), "nothing")


@pytest.mark.parametrize("protocol", [None, "legacy"])
async def test_lists_are_read_again_when_they_change(servers: Servers, protocol: str | None) -> None:
    connection = servers.local("stdio", protocol=protocol)
    await connection.catalogue()

    await call(connection, "grow")

    async with asyncio.timeout(10):
        while "grown" not in {each.name for each in (await connection.catalogue()).tools}:
            await asyncio.sleep(0.05)


async def test_what_a_server_writes_beside_the_protocol_is_shown_without_secrets(servers: Servers) -> None:
    connection = servers.local("-c", "echo bad key s3cret-token-1 >&2; exit 3", program="sh", protocol="legacy")

    with pytest.raises(ServerFailed, match=r"bad key \[redacted\]"):
        await connection.catalogue()


async def test_a_list_without_an_end_costs_the_server_and_nobody_waits_for_it(servers: Servers) -> None:
    connection = servers.local(program="endless.py")

    async with asyncio.timeout(20):
        with pytest.raises(ServerFailed, match="has no end"):
            await connection.catalogue()
        with pytest.raises(ServerFailed, match="has no end"):
            await connection.peek()


async def test_a_server_that_is_started_again_is_not_kept_waiting_by_earlier_failures(servers: Servers) -> None:
    program = servers.folder / "late"
    connection = servers.local(program=str(program), protocol="legacy")
    for _ in range(4):
        with pytest.raises(ServerFailed):
            await connection.catalogue()

    program.write_text(f"#!/bin/sh\nexec {sys.executable} {SERVERS / 'everyday.py'} stdio\n")
    program.chmod(0o700)

    async with asyncio.timeout(10):  # the pauses are a quarter of a minute by now
        assert await call(connection, "add", a=1, b=2) == "3"


async def test_a_server_that_nothing_has_asked_for_sleeps_until_a_turn_does(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("activities.mcp.connection._UNUSED", 1.0)
    connection = servers.local("stdio")
    first = await call(connection, "variable", name="PID")

    async with asyncio.timeout(20):
        while connection.status is McpStatus.CONNECTED:
            await asyncio.sleep(0.05)
        assert len((await connection.peek()).tools) > 5

    assert await call(connection, "variable", name="PID") != first
