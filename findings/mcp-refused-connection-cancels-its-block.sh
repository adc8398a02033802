#!/usr/bin/env bash
# What a call gets whose MCP server is gone, over HTTP, and what else it ends.
#
# Guessed: an error of the connection, in the call alone; the client goes on, and reaches the server when it is back.
# Seen with mcp 2.3.0, Python 3.11: the call, and all else that runs in the block that holds the client, get
# asyncio.CancelledError, as if somebody had cancelled them; the cause (httpx2.ConnectError) comes only where the block
# ends, and the client is dead from then on.
# So a client lives in a task of its own, which makes a new one; requests run in tasks that it does not hold; and a
# CancelledError is a stop only where we have asked for one.
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cd "$home"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check mcp==2.3.0
cat >server.py <<'P'
import sys

from mcp.server.mcpserver import MCPServer

server = MCPServer("probe")


@server.tool()
def ping() -> str:
    return "pong"


server.run("streamable-http", port=int(sys.argv[1]), host="127.0.0.1")
P
cat >probe.py <<'P'
import asyncio
import socket
import subprocess
import sys

from mcp import Client


async def listens(port):
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            return writer.close()
        except OSError:
            await asyncio.sleep(0.1)


async def main():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, "server.py", str(port)], stderr=subprocess.DEVNULL)
    await listens(port)
    seen = []
    try:
        async with Client(f"http://127.0.0.1:{port}/mcp") as client:
            await client.call_tool("ping", {})
            server.kill()
            server.wait()
            try:
                await client.call_tool("ping", {})
            except BaseException as error:
                seen.append(f"the call: {type(error).__name__}")
                raise
    except BaseException as error:
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        seen.append(f"the end of the block: {type(error).__name__}")
    print("\n".join(seen))


asyncio.run(main())
P
seen=$(env/bin/python probe.py 2>/dev/null | grep -v INFO)
echo "$seen"
[ "$seen" = "the call: CancelledError
the end of the block: ConnectError" ]
echo "as stated"
