#!/usr/bin/env bash
# How a client of an MCP server hears that the server's tools are others by now.
#
# Guessed: by the notification `tools/list_changed`, in the client's message handler, as since 2024.
# Seen with mcp 2.3.0, Python 3.11, its own server over stdio, which sends both forms: where both ends agree on
# 2026-07-28, as they do by default, the handler hears nothing; only who holds `client.listen(tools_list_changed=True)`
# open gets the event. With mode="legacy" it is the other way round: the handler hears it, and `listen` is refused.
# So a client does both, and reads the list again at either.
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cd "$home"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check mcp==2.3.0
cat >server.py <<'P'
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("probe")


@server.tool()
async def more(ctx: Context) -> str:
    server.add_tool(lambda: "new", name=f"new{len(await server.list_tools())}", description="New.")
    await ctx.notify_tools_changed()
    await ctx.session.send_tool_list_changed()
    return "done"


server.run("stdio")
P
cat >probe.py <<'P'
import asyncio
import sys

from mcp import Client, StdioServerParameters
from mcp.client.subscriptions import ListenNotSupportedError


async def hears(mode):
    handled, listened = [], []

    async def handler(message):
        handled.append(message)

    parameters = StdioServerParameters(command=sys.executable, args=["server.py"])
    async with Client(parameters, mode=mode, message_handler=handler) as client:
        await client.call_tool("more", {})
        await asyncio.sleep(1)
        alone = any("ToolListChanged" in type(each).__name__ for each in handled)
        try:
            async with client.listen(tools_list_changed=True) as events:
                await client.call_tool("more", {})
                listened.append(await asyncio.wait_for(anext(aiter(events)), 5))
        except ListenNotSupportedError:
            pass
        print(client.protocol_version, "handler alone:", alone, "listener:", bool(listened))


asyncio.run(hears("auto"))
asyncio.run(hears("legacy"))
P
seen=$(env/bin/python probe.py 2>/dev/null)
echo "$seen"
[ "$seen" = "2026-07-28 handler alone: False listener: True
2025-11-25 handler alone: True listener: False" ]
echo "as stated"
