"""A server of today's SDK: `everyday.py stdio`, or `everyday.py http PORT`."""

import asyncio
import os
import sys
from pathlib import Path

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("everyday", instructions="Add with `add`.", version="1.0")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def slow(seconds: float, ctx: Context) -> str:
    """Sleep, with progress."""
    for step in range(10):
        await ctx.report_progress(step, 10, f"step {step}")
        await asyncio.sleep(seconds / 10)
    return "slept"


@server.tool()
async def silent(seconds: float) -> str:
    """Sleep without a word."""
    await asyncio.sleep(seconds)
    return "slept"


@server.tool()
def die() -> str:
    """End the server in the middle of a call."""
    os._exit(3)


@server.tool()
def fail() -> str:
    """Raise."""
    raise ValueError("no")


@server.tool()
def large(size: int) -> str:
    """An answer of this many characters."""
    return "x" * size


@server.tool()
def variable(name: str) -> str:
    """The value of an environment variable."""
    own = {"PWD_NOW": str(Path.cwd()), "PID": str(os.getpid())}
    return own.get(name, os.environ.get(name, ""))


@server.tool()
async def swap(ctx: Context) -> str:
    """Have `add` do something else."""

    def subtract(a: int, b: int) -> int:
        return a - b

    server.remove_tool("add")
    server.add_tool(subtract, name="add", description="Subtract two numbers.")
    await ctx.notify_tools_changed()
    return "done"


@server.tool()
async def grow(ctx: Context) -> str:
    """Add a tool."""

    def grown() -> str:
        return "grown"

    server.add_tool(grown)
    await ctx.notify_tools_changed()
    await ctx.session.send_tool_list_changed()
    return "done"


@server.prompt()
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Say hello to {name}."


@server.resource("note://one")
def one() -> str:
    """A note."""
    return "the first note"


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        print("welcome", flush=True)
        server.run("stdio")
    else:
        server.run("streamable-http", port=int(sys.argv[2]), host="127.0.0.1")
