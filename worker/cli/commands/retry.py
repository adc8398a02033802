"""`holdfast retry`: retry a failed turn."""

import click

from worker.api.accepted import AcceptedRetry
from worker.api.sessions import Overview
from worker.cli import completers, id_lookup, session_preparation
from worker.cli.command_support import async_command, open_client, print_note, thinking_option
from worker.cli.exit_codes import ExitCode
from worker.cli.render.escaping import escape_exact
from worker.cli.run_loop import FollowOptions, InterruptGuard, follow_options, follow_session
from worker.settings import Settings


@click.command()
@click.argument("session", shell_complete=completers.session)
@session_preparation.model_option("Another model, for this turn only")
@session_preparation.variant_option
@session_preparation.config_option
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
        prepared = await session_preparation.prepare_session(client, overview, model, variant=variant, config=config)
        with InterruptGuard() as guard:
            accepted = await client.retry(overview.id, model=model, variant=variant, sources=prepared.sources)
            prepared.report()
            _print_header(overview, accepted, model, session_preparation.configuration_suffix(prepared.configuration))
            if detach and not guard.interrupted:
                click.echo(accepted.model_dump_json() if as_json else accepted.session)
                return ExitCode.DONE
            options = FollowOptions(
                seq=overview.seq,
                no_wait=no_wait,
                stay_open=not exit_,
                configuration=prepared.configuration,
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
