"""`holdfast agents`: who can work in this directory."""

import sys

import click

from worker.cli import completers
from worker.cli.agent_listing import list_agents, read_agent
from worker.cli.command_output import CommandOutput, with_json
from worker.cli.command_support import ListingGroup, async_command, person_command, print_note
from worker.cli.prompt_input import read_text
from worker.cli.render import agent_page
from worker.cli.render.console import terminal_columns
from worker.cli.render.escaping import escape_exact, escape_prose
from worker.cli.session_preparation import model_option
from worker.settings import Settings
from workflows.domain.agents.agent import AgentMode


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
@async_command
@with_json()
async def list_(settings: Settings, all_: bool) -> CommandOutput:
    """List the agents of this directory's configuration, the default one first.

    A primary agent works for people, as `run --agent NAME`; a subagent for other agents; `all` for both.

    \b
    Example:
      holdfast agents list --all --json
    """
    listing = await list_agents(settings)
    shown = [each for each in listing.agents if all_ or not each.agent.hidden]
    problem = [f"Warning: {escape_prose(listing.problem)}"] if listing.problem else []
    return CommandOutput(
        [agent_page.to_json(each) for each in shown],
        lambda: agent_page.render_list(shown, terminal_columns()),
        notes=(*problem, *(f"Refused: {escape_prose(each.why)}" for each in listing.refused)),
    )


@agents.command()
@click.argument("name", shell_complete=completers.any_agent)
@async_command
@with_json()
async def show(settings: Settings, name: str) -> CommandOutput:
    """Show an agent: its rules in effect and where each is written, its instructions, model and limits.

    \b
    Examples:
      holdfast agents show build
      holdfast agents show explore --json
    """
    details = await read_agent(settings, name)
    return CommandOutput(
        agent_page.details_to_json(details),
        lambda: agent_page.render_agent(details, terminal_columns()),
        remarks=(f"Warning: {escape_prose(each)}" for each in details.warnings),
    )


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
