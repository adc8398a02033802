"""`holdfast agents`: who can work in this directory."""

import json
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final

import click

from activities.redact import Redactor
from worker.cli import completers
from worker.cli.agent_listing import AgentDetails, ListedAgent, list_agents, read_agent
from worker.cli.command_output import CommandOutput, with_json
from worker.cli.command_support import ListingGroup, async_command, person_command, print_note
from worker.cli.prompt_input import read_text
from worker.cli.prompt_options import model_option
from worker.cli.render.console import Row, joined, styled, terminal_columns
from worker.cli.render.escaping import escape_exact, escape_prose, one_line
from worker.cli.render.formatting import pluralize, short_file
from worker.cli.render.text_table import format_choices, format_table
from worker.cli.render.wrap import wrap_text
from worker.settings import Settings
from workflows.domain.agents.agent import Agent, AgentMode
from workflows.domain.agents.built_in import HIDDEN
from workflows.domain.permissions.rules import Action, Rule

_LONGEST: Final = 200  # characters of a description in the list
_BUILT_IN: Final = "built-in"
_HEADINGS: Final = ("agent", "mode", "model", "what for (and where from)")
_STYLES: Final = {Action.ALLOW: "green", Action.ASK: "yellow", Action.DENY: "red"}


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
        [to_json(each) for each in shown],
        lambda: _list_rows(shown, terminal_columns()),
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
        details_to_json(details),
        lambda: render_agent(details, terminal_columns()),
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
async def create(settings: Settings, /, prompt: str | None, model: str | None, yes: bool, **given: Any) -> None:
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
    wanted = Wanted(prompt=read_text("--prompt", prompt), **given)
    draft = await draft_agent(settings, ask_for_rest(wanted) if on_terminal else wanted, model)
    click.echo(escape_prose(draft.agent.markdown), nl=False)
    if draft.written_by and on_terminal:
        click.confirm(f"Write this to {escape_exact(str(draft.file))}?", abort=True, err=True)
    write_file(draft)
    print_note(f"Written: {escape_exact(str(draft.file))}. `holdfast agents show {draft.agent.name}` shows its rules.")


def _list_rows(listed: Sequence[ListedAgent], max_columns: int | None) -> list[Row]:
    cells = (_cells(each, marked=max_columns is not None) for each in listed)
    purposes = (one_line(each.agent.description or "", _LONGEST) for each in listed)
    return format_choices(_HEADINGS, zip(cells, purposes, map(_origin, listed), strict=True), max_columns)


def _cells(listed: ListedAgent, *, marked: bool) -> tuple[str, str, str]:
    default = " (default)" if listed.is_default and marked else ""
    agent = listed.agent
    return escape_exact(agent.name) + default, agent.mode.value, escape_exact(agent.model or "-")


def render_agent(details: AgentDetails, max_columns: int | None) -> Iterator[Row]:
    inner = None if max_columns is None else max_columns - 2
    yield styled(escape_exact(details.listed.agent.name), "bold")
    for fact in _facts(details):
        yield from (f"  {row}" for row in wrap_text(fact, inner, 2))
    yield ""
    yield styled("Instructions (estimated tokens)", "bold")
    sizes = [(f"{each.tokens:>9,}", escape_exact(each.name)) for each in details.layers]
    yield from (joined("  ", row) for row in format_table(sizes, inner))
    if details.rules:
        yield ""
        several = f"of {details.sets} sets, in each the last match decides, and the strictest counts"
        yield styled(f"Rules ({several if details.sets > 1 else 'the last match decides'})", "bold")
        yield from (joined("  ", row) for row in _rule_rows(details, inner))


def _rule_rows(details: AgentDetails, max_columns: int | None) -> Iterator[Row]:
    """Below the file of each; aligned over all of them."""
    width = max(len(escape_exact(rule.permission)) for rule, _ in details.rules)
    for file, found in groupby(details.rules, lambda each: each[1]):
        yield from wrap_text(_BUILT_IN if file is None else short_file(file), max_columns)
        cells = [
            (
                styled(f"  {rule.action.value:<5}", _STYLES[rule.action]),
                escape_exact(rule.permission).ljust(width),
                _subject(rule),
            )
            for rule, _ in found
        ]
        yield from format_table(cells, max_columns)


def to_json(listed: ListedAgent) -> dict[str, Any]:
    agent = listed.agent
    return {
        "name": agent.name,
        "displayName": agent.display_name,
        "mode": agent.mode.value,
        "native": listed.is_built_in,
        "hidden": agent.hidden,
        "default": listed.is_default,
        "description": agent.description,
        "model": agent.model,
        "variant": agent.variant,
        "temperature": agent.temperature,
        "topP": agent.top_p,
        "color": agent.color,
        "steps": agent.steps,
        "options": json.loads(Redactor().text(json.dumps(agent.options))),
        "files": list(listed.files),
    }


def details_to_json(details: AgentDetails) -> dict[str, Any]:
    """`model`: that of a turn that names none."""
    rules = [{**rule.model_dump(mode="json"), "file": file or _BUILT_IN} for rule, file in details.rules]
    layers = [each.model_dump(mode="json") for each in details.layers]
    return {**to_json(details.listed), "model": details.model, "instructions": layers, "rules": rules}


def _facts(details: AgentDetails) -> Iterator[str]:
    agent = details.listed.agent
    named = f"shown as {escape_exact(agent.display_name)}, " if agent.display_name else ""
    hidden = "hidden, " if agent.hidden else ""
    yield f"{named}{hidden}{_mode(agent)}"
    if agent.description:
        yield escape_prose(" ".join(agent.description.split()))
    files = ", ".join(map(short_file, details.listed.files))
    yield (
        (f"{_BUILT_IN}, changed by {files}" if files else _BUILT_IN) if details.listed.is_built_in else f"from {files}"
    )
    yield f"model: {_model(details)}{f', variant {escape_exact(agent.variant)}' if agent.variant else ''}"
    sampling = {"temperature": agent.temperature, "top_p": agent.top_p}
    if given := ", ".join(f"{name} {value:g}" for name, value in sampling.items() if value is not None):
        yield given
    if agent.options:
        yield f"options: {escape_prose(Redactor().text(json.dumps(agent.options, ensure_ascii=False)))}"
    if agent.color:
        yield f"color: {agent.color}"
    if agent.steps is not None:
        yield f"at most {pluralize(agent.steps, 'answer')} in a turn, the last one without tools"


def _mode(agent: Agent) -> str:
    if agent.name in HIDDEN:
        return f"{agent.mode.value}: asked by Holdfast itself"
    words = {"primary": "works for people", "subagent": "works for other agents", "all": "works for people and agents"}
    return f"{agent.mode.value}: {words[agent.mode.value]}"


def _model(details: AgentDetails) -> str:
    family = details.listed.agent.model_family
    if details.model is not None:
        return escape_exact(details.model) + (f", the newest of {family}" if family else "")
    if details.listed.agent.name in HIDDEN:
        return "that of the turn"
    return (
        "none is configured: -m names one"
        if details.listed.agent.selectable
        else "that of the agent that hands it work"
    )


def _origin(listed: ListedAgent) -> str:
    names = [*([_BUILT_IN] if listed.is_built_in else []), *map(short_file, reversed(listed.files))]
    more = f" and {len(names) - 2} more" if len(names) > 2 else ""
    return ", ".join(names[:2]) + more


def _subject(rule: Rule) -> str:
    but = f" but for {pluralize(len(rule.unless), 'exception')}" if rule.unless else ""
    return escape_exact(rule.pattern) + but
