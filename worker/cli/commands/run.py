"""`holdfast run`: give a task, follow it, and answer what it asks."""

import json
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import Any

import click

from worker.cli import completers, id_lookup, other_sessions, prompt_input, prompt_options
from worker.cli.budget_options import budget_options
from worker.cli.command_output import CommandOutput, with_json
from worker.cli.command_support import (
    ask_option,
    async_command,
    open_client,
    print_note,
    thinking_option,
)
from worker.cli.exit_codes import ExitCode
from worker.cli.next_prompt import AgentCycle, read_first_prompt
from worker.cli.prompt_input import read_schema
from worker.cli.render.escaping import escape_exact
from worker.cli.run_loop import FollowOptions, InterruptGuard, follow_options, follow_session
from worker.cli.run_start import (
    RunArguments,
    StartedRun,
    continue_session,
    create_session,
    prepare,
    prepare_again,
    start_session,
)
from worker.cli.schedule_options import ScheduleOptions, create_schedule, schedule_options
from worker.cli.slash_commands import may_be_command, parse_command
from worker.cli.terminal_input import is_interactive
from worker.project_config import load_commands
from worker.session_client import SessionClient
from worker.settings import Settings
from worker.turn_preparation import Preparation
from workflows.domain.budgets import ChosenLimits
from workflows.domain.errors import UsageError
from workflows.domain.ids import TurnConfigId
from workflows.domain.titles import validate_title
from workflows.domain.views.accepted import AcceptedPrompt

_agent_option = click.option(
    "--agent",
    metavar="NAME",
    shell_complete=completers.agent,
    help="The agent, instead of the configured one or that of the session's last turn.",
)
_title_option = click.option("--title", metavar="TEXT", help="The new session's title; without it, the model names it.")
_trust_option = click.option(
    "--trust", metavar="DIGEST", help="Accept the project's files, if they are what `holdfast trust` shows."
)


@click.command()
@click.argument("words", nargs=-1, metavar="[PROMPT]...")
@prompt_options.model_option("The model, instead of the configured one")
@click.option("--any-model", is_flag=True, help="Take the name of -m as it is, even if it looks misspelt.")
@prompt_options.variant_option
@_agent_option
@ask_option
@_title_option
@click.option(
    "-s",
    "--session",
    metavar="SESSION",
    shell_complete=completers.session,
    help="Continue this session: an id, its beginning, or `last`.",
)
@click.option("-c", "--continue", "again", is_flag=True, help="Continue the last session of this directory.")
@_trust_option
@prompt_options.prompt_options("the same task")
@follow_options
@click.option(
    "--schema",
    metavar="FILE",
    type=click.Path(),
    help="Have the result as JSON by this JSON schema; standard output is then that alone.",
)
@thinking_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object on each line.")
@budget_options
@schedule_options
@async_command
async def run(
    settings: Settings,
    /,
    words: tuple[str, ...],
    trust: str | None,
    title: str | None,
    session: str | None,
    again: bool,
    command: str | None,
    subtask: str | None,
    files: tuple[str, ...],
    system: str | None,
    edit: bool,
    identity: str | None,
    detach: bool,
    no_wait: bool,
    exit_: bool,
    schema: str | None,
    thinking: bool,
    as_json: bool,
    limits: ChosenLimits,
    schedule: ScheduleOptions | None,
    **named: Any,
) -> ExitCode:
    """Give a task to the agent, and follow it to its end.

    The agent works in the current directory. PROMPT is plain words; `-` stands for standard input. On a terminal, what
    you type while the agent works is a prompt too, and you are asked for the next one when a turn has ended; without a
    PROMPT for the first one. Ctrl-C stops the turn, for good even if everything dies at once; a second Ctrl-C only
    leaves, and so does a closed terminal. With --at or --every the task begins then: `holdfast schedules` lists it.

    \b
    Examples:
      holdfast run "make the tests pass"
      holdfast run -m anthropic/claude-sonnet-4-5 --detach "update @CHANGELOG.md" --file notes.txt
      git diff | holdfast run "review this:" -
      holdfast run -c "now do the same for the docs"
      holdfast run --command review HEAD~3
      holdfast run --every "weekdays 7:00" --max-cost 2 "look for new issues"
      holdfast run --schema summary.json "sum up the last week's commits" > summary
    """
    own, session = prompt_input.parse_prompt_id(identity), _session_argument(session, again, title, trust)
    written_out = (words, edit, own, detach, no_wait, as_json, schema, schedule, command, subtask, files, system)
    typed = is_interactive() and not any(written_out)
    given = prompt_input.TypedText() if typed else prompt_input.read_typed(words, command, subtask, edit=edit)
    read = {"system": prompt_input.read_system(system), "format": read_schema(schema), "detached": detach}
    written = {**given._asdict(), "command": command, "subtask": subtask, "files": prompt_input.name_files(files)}
    request = RunArguments(prompt=own, session=session, title=title, limits=limits, **written, **read, **named)
    request, prepared = await prepare(settings, request, trust) if session is None else (request, None)
    if schedule is not None:
        schedule.refuse_following({"--no-wait": no_wait, "--exit": exit_, "--thinking": thinking})
        return await create_schedule(settings, request, schedule, prepared, as_json=as_json)
    first = (request, prepared) if prepared is None or not typed else await _ask_first(settings, request, prepared)
    options = FollowOptions(no_wait=no_wait, stay_open=not (exit_ or schema), thinking=thinking, as_json=as_json)
    return ExitCode.DONE if first is None else await _run_now(settings, *first, options, detach=detach)


@click.command()
@prompt_options.model_option("The session's model, instead of the configured one")
@prompt_options.variant_option
@_agent_option
@ask_option
@_title_option
@_trust_option
@async_command
@with_json("Print the session's id as JSON.")
async def new(settings: Settings, /, trust: str | None, **named: Any) -> CommandOutput:
    """Start a session without a prompt.

    It works in the current directory, as one of `run` does, and is idle until `holdfast send` or `run -s` prompts it.

    \b
    Example:
      holdfast new --agent plan --title "Release notes"
    """
    request, prepared = await prepare(settings, RunArguments(text="", **named), trust)
    async with open_client(settings) as client:
        session = await create_session(client, request, prepared)
    return CommandOutput(
        {"session": session}, lambda: session, remarks=[f"It waits for a prompt: holdfast send {session} …"]
    )


async def _run_now(
    settings: Settings, request: RunArguments, prepared: Preparation | None, options: FollowOptions, *, detach: bool
) -> ExitCode:
    if prepared is not None:
        await prepared.hand_over_credentials()
    async with open_client(settings, with_worker=True) as client:
        with InterruptGuard() as guard:
            if prepared is None:
                started = await continue_session(client, request)
            else:
                started = await start_session(client, request, prepared)
            await _print_header(client, started)
            if detach and started.accepted is not None and not guard.interrupted:
                _print_detached(started.accepted, started.configuration, options.as_json)
                return ExitCode.DONE
            return await _follow(client, request, started, guard, options.model_copy(update=_state(request, started)))


async def _follow(
    client: SessionClient, request: RunArguments, started: StartedRun, guard: InterruptGuard, options: FollowOptions
) -> ExitCode:
    prompt = started.accepted.prompt if started.accepted is not None else None
    if prompt is None or request.format is None or options.as_json:
        return await follow_session(client, started.session, prompt, guard, options)
    with redirect_stdout(sys.stderr):
        end = await follow_session(client, started.session, prompt, guard, options)
    if end is ExitCode.DONE:
        click.echo(json.dumps(await client.records.result(started.session, prompt), ensure_ascii=False))
    return end


async def _ask_first(
    settings: Settings, request: RunArguments, prepared: Preparation
) -> tuple[RunArguments, Preparation] | None:
    """With the first prompt; None if the person leaves without one."""
    turn_config = prepared.require_config()

    async def parse(text: str, agent: str | None) -> tuple[RunArguments, Preparation]:
        asked, of_agent = request.model_copy(update={"agent": agent or request.agent, "text": text}), prepared
        if agent is not None:
            of_agent = await prepare_again(settings, asked, prepared.default_model)
            of_agent.require_config()
        if may_be_command(text):
            found = await load_commands(settings, turn_config)
            if (typed := parse_command(text, found.names)) is not None:
                of_command = {"command": typed.name, "text": typed.arguments}
                asked = await asked.model_copy(update=of_command).expand(settings, of_agent)
        return asked, of_agent

    async def agent_names() -> tuple[Sequence[str], str]:
        return turn_config.delegation.visible_names, turn_config.agent.name

    return await read_first_prompt(settings, prepared.model or "", parse, AgentCycle(agent_names))


def _state(request: RunArguments, started: StartedRun) -> dict[str, object]:
    return {
        **request.model_dump(include={"model", "variant", "agent"}),
        **started.model_dump(include={"seq", "turn", "configuration", "warnings"}),
        "current_agent": request.agent or started.current_agent,
    }


def _session_argument(session: str | None, again: bool, title: str | None, trust: str | None) -> str | None:
    """Raises UsageError, also for a title that a new session cannot have."""
    if session is not None and again:
        raise UsageError("--session and --continue both name a session: give one of them.")
    found = id_lookup.LAST if again else session
    if title is not None and found is not None:
        raise UsageError(f"--title names a new session: `holdfast title {found} TEXT` renames one.")
    if trust is not None and found is not None:
        raise UsageError("--trust is for a new session: `holdfast trust` accepts the files of one that is there.")
    if title is not None:
        validate_title(title)
    return found


async def _print_header(client: SessionClient, started: StartedRun) -> None:
    configuration = f", configuration {started.configuration}" if started.configuration else ""
    print_note(f"{started.name} in {escape_exact(started.directory)}{configuration}")
    await other_sessions.report_other_sessions(client, started.session)
    if started.accepted is not None and not started.accepted.delivered:
        print_note("The engine cannot be reached at the moment; the task is recorded, and begins when it is back.")


def _print_detached(accepted: AcceptedPrompt, configuration: TurnConfigId | None, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({**accepted.model_dump(), "configuration": configuration}))
        return
    click.echo(accepted.session)
    print_note(f"It works in the background. To follow it: holdfast watch {accepted.session}")
