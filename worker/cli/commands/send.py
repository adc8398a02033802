"""`holdfast send`: a prompt for a session."""

from datetime import UTC, datetime

import click

from worker.cli import completers, id_lookup, prompt_input, prompt_options
from worker.cli.budget_options import budget_options
from worker.cli.command_support import async_command, open_client, print_note, print_remarks
from worker.cli.render import suspension_text
from worker.cli.render.formatting import format_prompts_behind_wait, format_queued_prompts
from worker.cli.render.session_status import status_label
from worker.session_client import SessionClient
from worker.settings import Settings
from worker.turn_preparation import joined_turn_remarks, prepare_next_turn
from workflows.domain.budgets import ChosenLimits
from workflows.domain.ids import SessionId
from workflows.domain.prompt import Prompt, PromptMode
from workflows.domain.views.sessions import Overview


@click.command()
@click.argument("session", shell_complete=completers.session)
@click.argument("words", nargs=-1, metavar="[PROMPT]...")
@click.option("--queue", is_flag=True, help="In a turn of its own, after the running one.")
@prompt_options.model_option("The model, if a turn begins with this prompt")
@prompt_options.variant_option
@click.option(
    "--agent",
    metavar="NAME",
    shell_complete=completers.agent,
    help="The agent, if a turn begins with this prompt; without it, that of the session's last turn.",
)
@prompt_options.prompt_options("the same prompt")
@click.option("--json", "as_json", is_flag=True, help="Print what was accepted as JSON.")
@budget_options
@async_command
async def send(
    settings: Settings,
    session: str,
    words: tuple[str, ...],
    queue: bool,
    model: str | None,
    variant: str | None,
    agent: str | None,
    config: str | None,
    command: str | None,
    subtask: str | None,
    files: tuple[str, ...],
    system: str | None,
    edit: bool,
    identity: str | None,
    as_json: bool,
    limits: ChosenLimits,
) -> None:
    """Send a prompt to a session.

    A turn that runs sees it at its next step. With --queue the prompt gets a turn of its own, after the running one; so
    do prompts with --command, --subtask, --system or limits of a turn. `-` stands for standard input.

    \b
    Examples:
      holdfast send ses_… "also update the docs"
      holdfast send last --command review HEAD~3
      holdfast send last --queue "then write the changelog"
    """
    text, piped_at = prompt_input.read_typed(words, command, subtask, edit=edit)
    own = prompt_input.parse_prompt_id(identity)
    mode = PromptMode.QUEUE if queue else PromptMode.STEER
    named = {"agent": agent, "model": model, "variant": variant, "mode": mode, "piped_at": piped_at}
    attached = prompt_input.name_files(files)
    given = Prompt(parts=attached, system=prompt_input.read_system(system), limits=limits.turn, **named)
    async with open_client(settings, with_worker=True) as client:
        overview = await client.sessions.get(await id_lookup.find_session(client, session))
        prompt = given.with_text(text, subtask=subtask) if command is None else given
        prepared = await prepare_next_turn(client, overview, prompt, config=config, limits=limits)
        print_remarks(*prepared.remarks)
        await prepared.hand_over_credentials()
        if command is not None:
            prompt = await client.commands.of_session(overview.id, command, text, given, prepared.sources)
        accepted = await client.prompt(
            overview.id,
            prompt,
            prompt=own,
            sources=prepared.sources,
            turn_config=prepared.turn_config,
            limits=limits.session,
        )
        print_remarks(*prepared.late_remarks)
        print_remarks(*joined_turn_remarks(overview, prompt))
        blocked = await _describe_what_blocks(client, overview.id)
    click.echo(accepted.model_dump_json() if as_json else f"Accepted by {overview.id}.")
    _print_notes(overview, blocked, delivered=accepted.delivered)


def _print_notes(overview: Overview, blocked: str | None, *, delivered: bool) -> None:
    suspension_text.print_suspension(overview)
    if blocked is not None:
        print_note(blocked)
    if not delivered:
        print_note("The engine cannot be reached at the moment; the prompt is recorded, and is taken when it is back.")


async def _describe_what_blocks(client: SessionClient, session: SessionId) -> str | None:
    """The open ask or the wait that prompts wait for, if any do."""
    asks, overview = await client.inbox.asks(session=session, limit=1), await client.sessions.get(session)
    if asks and overview.waiting:
        return f"{format_queued_prompts(overview.waiting, asks[0].name)}: holdfast asks --session {session}"
    if overview.waits and overview.waiting:
        now = status_label(overview, datetime.now(UTC))
        return f"It {now}: {format_prompts_behind_wait(overview.waiting, session)}"
    return None
