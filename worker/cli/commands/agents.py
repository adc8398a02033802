"""`holdfast agents`: who can work in this directory."""

import json
import sys

import click

from worker.cli import completers
from worker.cli.agent_listing import list_agents, read_agent
from worker.cli.command_support import ListingGroup, async_command, person_command, print_note
from worker.cli.prompt_input import read_text
from worker.cli.render import agent_page
from worker.cli.render.console import print_rows, terminal_columns
from worker.cli.render.escaping import escape_exact, escape_prose
from worker.cli.session_preparation import model_option
from worker.settings import Settings
from workflows.domain.agents.agent import AgentMode

_JSON = click.option("--json", "as_json", is_flag=True, help="As JSON.")


@click.group(cls=ListingGroup)
def agents() -> None:
    """List the agents that can work here, show one, or create one.

    Without a command: `holdfast agents list`.

    \b
    Examples:
      holdfast agents
      holdfast agents show build
      holdfast agents create --description "reviews SQL for missing indexes"
    """


@agents.command("list")
@click.option("--all", "all_", is_flag=True, help="The hidden ones, too.")
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
    else:
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
    for warning in details.warnings:
        print_note(f"Warning: {escape_prose(warning)}")


@agents.command()
@click.argument("name", required=False)
@click.option(
    "--description", help="When to hand it work. Without NAME and --prompt: what a model writes the agent from."
)
@click.option("--prompt", metavar="TEXT|@FILE", help="Its instructions.")
@click.option(
    "--mode", type=click.Choice([each.value for each in AgentMode]), help="For whom it works: all, by default."
)
@click.option(
    "--tools",
    "--permissions",
    "tools",
    metavar="NAME,…",
    help="The tools that it may use, such as read,grep,glob: all, by default. All others are denied.",
)
@click.option("--global", "mine", is_flag=True, help="Your own, for all projects; otherwise it is this project's.")
@click.option("--path", metavar="DIRECTORY", type=click.Path(), help="The directory of configuration for its file.")
@model_option("The model that writes it")
@click.option("--yes", is_flag=True, help="Ask nothing.")
@person_command
async def create(
    settings: Settings,
    name: str | None,
    description: str | None,
    prompt: str | None,
    mode: str | None,
    tools: str | None,
    mine: bool,
    path: str | None,
    model: str | None,
    yes: bool,
) -> None:
    """Create an agent, as a Markdown file: from what you say, or written by a model from a description.

    With NAME, --description and --prompt, no model is asked. Otherwise a model finds what you leave out. On a
    terminal, you are asked for what is missing, and before a model's words are written. A file that exists stays.

    \b
    Examples:
      holdfast agents create --description "reviews SQL for missing indexes" --tools read,grep,glob
      holdfast agents create tester --description "Runs the tests" --prompt @tester.md --mode subagent
      holdfast agents create
    """
    from worker.cli.agent_creation import Wanted, ask_for_rest, draft_agent, write_file  # start-up time

    on_terminal = sys.stdin.isatty() and not yes
    wanted = Wanted(name, description, read_text("--prompt", prompt), mode, tools, mine, path)
    draft = await draft_agent(settings, ask_for_rest(wanted) if on_terminal else wanted, model)
    click.echo(escape_prose(draft.agent.markdown), nl=False)
    if draft.written_by and on_terminal:
        click.confirm(f"Write this to {escape_exact(str(draft.file))}?", abort=True, err=True)
    write_file(draft)
    print_note(f"Written: {escape_exact(str(draft.file))}. `holdfast agents show {draft.agent.name}` shows its rules.")
