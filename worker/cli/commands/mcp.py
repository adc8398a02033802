"""`holdfast mcp`: the servers of tools of this directory."""

from collections.abc import Iterator
from typing import Any, Final

import click
from pydantic import ValidationError

from activities.credentials.logins import Logins
from worker.cli.command_output import CommandOutput, with_json
from worker.cli.command_support import ListingGroup, async_command, current_directory, person_command, print_note
from worker.cli.own_config import add_field, read_field
from worker.cli.render.console import Row, terminal_columns
from worker.cli.render.escaping import escape_exact, escape_prose
from worker.cli.render.formatting import pluralize
from worker.cli.render.text_table import format_headed
from worker.mcp_listing import ListedServer, find_address, list_servers
from worker.settings import Settings
from workflows.domain.config.config import Config
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import NotFound, ServerFailed, Unavailable, UsageError

_HEADINGS: Final = ("server", "status", "tools", "what (and why not)")


@click.group(cls=ListingGroup)
def mcp() -> None:
    """List the servers of tools (MCP) of this directory, add one, log in to one.

    Without a command: `holdfast mcp list`. Servers are set in `mcp` of opencode.json; those of a project count once you
    have accepted them (`holdfast trust`).

    \b
    Examples:
      holdfast mcp
      holdfast mcp add notes -- npx -y @modelcontextprotocol/server-filesystem ~/notes
      holdfast mcp add tickets --url https://tickets.example.com/mcp
      holdfast mcp auth tickets
    """


@mcp.command("list")
@click.option("--tools", "with_tools", is_flag=True, help="Their tools, too.")
@async_command
@with_json()
async def list_(settings: Settings, with_tools: bool) -> CommandOutput:
    """Start the servers of this directory for a look: which of them work, with how many tools, and why not.

    \b
    Example:
      holdfast mcp list --tools
    """
    listed, turn_config = await list_servers(settings, current_directory())
    return CommandOutput(
        [_to_json(each) for each in listed],
        lambda: _rows(listed, terminal_columns(), with_tools=with_tools),
        empty="No server is configured here: `holdfast mcp add --help`.",
        notes=_held(turn_config),
    )


@mcp.command(context_settings={"ignore_unknown_options": True})
@click.argument("name")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--url", help="The address of a remote server.")
@click.option("--header", "headers", multiple=True, metavar="NAME: VALUE", help="A header of its requests.")
@click.option("--env", "variables", multiple=True, metavar="NAME=VALUE", help="A variable of its program.")
@person_command
async def add(
    settings: Settings,
    name: str,
    command: tuple[str, ...],
    url: str | None,
    headers: tuple[str, ...],
    variables: tuple[str, ...],
) -> None:
    """Add a server to your own opencode.json: a program behind `--`, or an address.

    Write keys as `{env:NAME}`: the file then holds none.

    \b
    Examples:
      holdfast mcp add git -- uvx mcp-server-git
      holdfast mcp add tickets --url https://tickets.example.com/mcp --header "X-Key: {env:TICKETS_KEY}"
    """
    if bool(command) is (url is not None):
        raise UsageError("Give a program behind `--`, or --url and an address: one of them.")
    if url is not None:
        server: dict[str, Any] = {"type": "remote", "url": url, "headers": dict(_pairs(headers, ":", "--header"))}
    else:
        server = {"type": "local", "command": [*command], "environment": dict(_pairs(variables, "=", "--env"))}
    if read_field(settings.config, ("mcp", name)) is not None:
        raise UsageError(f"Your own configuration has a server {name!r} already.")
    file = add_field(
        settings.config, ("mcp", name), _checked(name, {key: each for key, each in server.items() if each})
    )
    click.echo(f"Added to {escape_exact(str(file))}. Now: holdfast mcp")


@mcp.command()
@click.argument("name")
@person_command
async def auth(settings: Settings, name: str) -> None:
    """Log in to a remote server, in your browser.

    The token is kept in a file that only you can read, is sent to that server alone, and is renewed by itself.

    \b
    Example:
      holdfast mcp auth tickets
    """
    from activities.mcp.log_in import log_in  # start-up time

    address, server = await find_address(settings, current_directory(), name)
    oauth = address.settings.oauth
    if oauth is False:
        raise UsageError(f"`mcp.{name}.oauth` is false: this server is never logged in to.")

    async def show(url: str) -> None:
        print_note("Open this address in your browser; it comes back here by itself:")
        click.echo(escape_exact(url))
        click.launch(url)

    try:
        login = await log_in(server, oauth, show)
    except ServerFailed as error:
        raise Unavailable(f"Not logged in to {name!r}: {error}") from error
    await Logins(settings.mcp_logins).set(server.url, login)
    click.echo(f"Logged in to {escape_exact(name)}, kept in {escape_exact(str(settings.mcp_logins))}.")


@mcp.command()
@click.argument("name")
@person_command
async def logout(settings: Settings, name: str) -> None:
    """Forget the login to a server.

    \b
    Example:
      holdfast mcp logout tickets
    """
    _, server = await find_address(settings, current_directory(), name)
    if not await Logins(settings.mcp_logins).set(server.url, None):
        raise NotFound(f"There is no login to {name!r}.")
    click.echo(f"Forgotten: the login to {escape_exact(name)}.")


def _to_json(listed: ListedServer) -> dict[str, Any]:
    server = listed.server
    return {
        "name": server.name,
        "status": server.status,
        "reason": server.reason or None,
        "what": listed.what,
        "tools": [{"name": each.name, "description": each.description} for each in listed.tools],
    }


def _rows(listed: list[ListedServer], columns: int | None, *, with_tools: bool) -> Iterator[Row]:
    cells = [
        (
            escape_exact(each.server.name),
            each.server.status.value.replace("_", " "),
            str(len(each.tools)) if each.tools else "",
            escape_prose(f"{each.what}: {each.server.reason}" if each.server.reason else each.what),
        )
        for each in listed
    ]
    if cells:
        yield from format_headed([_HEADINGS, *cells], columns)
    for each in listed if with_tools else ():
        yield from (f"  {escape_exact(tool.name)}" for tool in each.tools)


def _held(turn_config: TurnConfig) -> tuple[str, ...]:
    held = sum(each.field.startswith("mcp.") for each in turn_config.held)
    them = f"{pluralize(held, 'server')} of this project's files"
    return (f"{them}: not there until you accept what is in them (`holdfast trust`).",) if held else ()


def _checked(name: str, server: dict[str, Any]) -> dict[str, Any]:
    """Raises UsageError for what the configuration would refuse."""
    try:
        Config.model_validate({"mcp": {name: server}})
    except ValidationError as error:
        raise UsageError(str(error.errors()[0]["msg"])) from None
    return server


def _pairs(given: tuple[str, ...], mark: str, option: str) -> Iterator[tuple[str, str]]:
    """Raises UsageError."""
    for each in given:
        name, found, value = each.partition(mark)
        if not found or not name.strip():
            raise UsageError(f"{option} takes a name, `{mark}` and a value.")
        yield name.strip(), value.strip()
