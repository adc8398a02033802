"""`holdfast compact`: a summary in place of the beginning of a conversation."""

from contextlib import aclosing

import click

from worker.cli import completers, id_lookup
from worker.cli.command_support import async_command, open_client, print_note
from worker.cli.exit_codes import ExitCode
from worker.cli.render.escaping import escape_exact
from worker.cli.run_loop import FollowOptions, InterruptGuard, follow_session
from worker.session_client import SessionClient
from worker.settings import Settings
from workflows.domain.events.compactions import CompactionTaken
from workflows.domain.events.generations import CompactionFailed, ContextCompacted
from workflows.domain.ids import CompactionId, SessionId


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
