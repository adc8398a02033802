"""`holdfast agents`: who can work in this directory."""

import json

import click

from worker.cli import completers
from worker.cli.agent_listing import list_agents, read_agent
from worker.cli.command_support import async_command, print_note
from worker.cli.render import agent_page
from worker.cli.render.console import print_rows, terminal_columns
from worker.cli.render.escaping import escape_prose
from worker.settings import Settings

_ALL = click.option("--all", "all_", is_flag=True, help="The hidden ones, too.")
_JSON = click.option("--json", "as_json", is_flag=True, help="As JSON.")


@click.group(invoke_without_command=True)
@_ALL
@_JSON
@click.pass_context
def agents(context: click.Context, all_: bool, as_json: bool) -> None:
    """List the agents that can work here, or show one.

    Without a command: `holdfast agents list`.

    \b
    Examples:
      holdfast agents
      holdfast agents show build
    """
    if context.invoked_subcommand is None:
        context.exit(context.invoke(list_, all_=all_, as_json=as_json))


@agents.command("list")
@_ALL
@_JSON
@async_command
async def list_(settings: Settings, all_: bool, as_json: bool) -> None:
    """List the agents of this directory's configuration, the default one first.

    A primary agent works for people, as `run --agent NAME`; a subagent for other agents; `all` for both.

    \b
    Example:
      holdfast agents list --all --json
    """
    listing = await list_agents(settings)
    shown = [each for each in listing.agents if all_ or not each.agent.hidden]
    if as_json:
        click.echo(json.dumps([agent_page.to_json(each) for each in shown], indent=2))
        return
    print_rows(agent_page.render_list(shown, terminal_columns()))
    if listing.problem:
        print_note(f"Warning: {escape_prose(listing.problem)}")
    for refused in listing.refused:
        print_note(f"Refused: {escape_prose(refused.why)}")


@agents.command()
@click.argument("name", shell_complete=completers.any_agent)
@_JSON
@async_command
async def show(settings: Settings, name: str, as_json: bool) -> None:
    """Show an agent: its rules in effect and where each is written, its instructions, model and limits.

    \b
    Examples:
      holdfast agents show build
      holdfast agents show explore --json
    """
    details = await read_agent(settings, name)
    if as_json:
        click.echo(json.dumps(agent_page.details_to_json(details), indent=2))
        return
    print_rows(agent_page.render_agent(details, terminal_columns()))
