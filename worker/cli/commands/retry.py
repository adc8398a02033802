"""`holdfast retry` and `compact`: work of a session that is not a prompt."""

from contextlib import aclosing

import click

from worker.cli import completers, id_lookup, prompt_options
from worker.cli.command_support import async_command, open_client, print_note, print_remarks, thinking_option
from worker.cli.exit_codes import ExitCode
from worker.cli.render.escaping import escape_exact
from worker.cli.run_loop import FollowOptions, InterruptGuard, follow_options, follow_session
from worker.session_client import SessionClient
from worker.settings import Settings
from worker.turn_preparation import prepare_next_turn
from workflows.domain.events.compactions import CompactionTaken
from workflows.domain.events.generations import CompactionFailed, ContextCompacted
from workflows.domain.ids import CompactionId, SessionId
from workflows.domain.prompt import Prompt
from workflows.domain.views.accepted import AcceptedRetry
from workflows.domain.views.sessions import Overview


@click.command()
@click.argument("session", shell_complete=completers.session)
@prompt_options.model_option("Another model, for this turn only")
@prompt_options.variant_option
@prompt_options.config_option
@follow_options
@thinking_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object on each line.")
@async_command
async def retry(
    settings: Settings,
    session: str,
    model: str | None,
    variant: str | None,
    config: str | None,
    detach: bool,
    no_wait: bool,
    exit_: bool,
    thinking: bool,
    as_json: bool,
) -> ExitCode:
    """Retry a failed turn, and follow it to its end.

    A new turn goes on where the failed one has left off: nothing has to be typed again, and what was done stays done.
    It reads the configuration anew, so fix that first if it was the reason. Ends with code 6 when the last turn did
    not fail.

    \b
    Examples:
      holdfast retry last
      holdfast retry ses_… -m openai/gpt-5
    """
    async with open_client(settings, with_worker=True) as client:
        overview = await client.sessions.get(await id_lookup.find_session(client, session))
        named = Prompt(parts=(), model=model, variant=variant)
        prepared = await prepare_next_turn(client, overview, named, config=config)
        print_remarks(*prepared.remarks)
        await prepared.hand_over_credentials()
        configuration = prepared.configuration(named)
        with InterruptGuard() as guard:
            accepted = await client.retry(overview.id, model=model, variant=variant, sources=prepared.sources)
            print_remarks(*prepared.late_remarks)
            _print_header(overview, accepted, model, f", configuration {configuration}" if configuration else "")
            if detach and not guard.interrupted:
                click.echo(accepted.model_dump_json() if as_json else accepted.session)
                return ExitCode.DONE
            options = FollowOptions(
                seq=overview.seq,
                no_wait=no_wait,
                stay_open=not exit_,
                configuration=configuration,
                warnings=prepared.warnings,
                thinking=thinking,
                as_json=as_json,
            )
            return await follow_session(client, overview.id, accepted.retry, guard, options)


def _print_header(overview: Overview, accepted: AcceptedRetry, model: str | None, configuration: str) -> None:
    print_note(
        f"Session {overview.id} in {escape_exact(overview.directory)}{configuration}: retrying turn {overview.number}."
    )
    if model is not None:
        print_note(f"{escape_exact(model)} is asked in this turn only; the session's own model stays what it was.")
    if not accepted.delivered:
        print_note("The engine cannot be reached at the moment; the retry is recorded, and begins when it is back.")


@click.command()
@click.argument("session", default="last", shell_complete=completers.session)
@click.option("-m", "--message", metavar="TEXT", help="What the summary should keep above all.")
@click.option("--detach", is_flag=True, help="Do not wait for it.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on each line.")
@async_command
async def compact(settings: Settings, session: str, message: str | None, detach: bool, as_json: bool) -> ExitCode:
    """Replace the beginning of a session's conversation with a summary.

    SESSION is an id, its beginning, or `last` (of this directory), which is the default. A turn that is at work does it
    before its next step. The log and `export` keep everything. Where there is no summary, it ends with code 1.

    \b
    Examples:
      holdfast compact
      holdfast compact ses_… -m "keep the API decisions"
    """
    async with open_client(settings, with_worker=True) as client:
        overview = await client.sessions.get(await id_lookup.find_session(client, session))
        with InterruptGuard() as guard:
            accepted = await client.compact(overview.id, message)
            print_note(f"Session {overview.id} in {escape_exact(overview.directory)}: compacting its context.")
            if not accepted.delivered:
                print_note(
                    "The engine cannot be reached at the moment; the request is recorded, and taken when it is back."
                )
            if detach and not guard.interrupted:
                click.echo(accepted.model_dump_json() if as_json else accepted.session)
                return ExitCode.DONE
            options = FollowOptions(seq=overview.seq, stay_open=False, as_json=as_json)
            end = await follow_session(client, overview.id, accepted.compaction, guard, options)
            if end is ExitCode.DONE and await _has_failed(client, overview.id, overview.seq, accepted.compaction):
                return ExitCode.FAILED
            return end


async def _has_failed(client: SessionClient, session: SessionId, seq: int, compaction: CompactionId) -> bool:
    """Whether the first thing that came of it, behind event `seq`, was a failure: the turn goes on all the same."""
    taken = False
    async with aclosing(client.records.log(session, seq)) as log:
        async for seen in log:
            match seen.record.event:
                case CompactionTaken(compaction=found):
                    taken = taken or found == compaction
                case ContextCompacted() | CompactionFailed() as outcome if taken:
                    return isinstance(outcome, CompactionFailed)
    return False
