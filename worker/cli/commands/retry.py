"""`holdfast retry`: retry a failed turn."""

import click

from worker.cli import complete, continuing, door, find
from worker.cli.conversation import Following, followed
from worker.cli.exits import Exit
from worker.cli.follow import thinking_option
from worker.cli.look.text import exact
from worker.cli.sending import Sending
from worker.client import Overview, Retrying
from worker.settings import Settings


@click.command()
@click.argument("session", shell_complete=complete.session)
@click.option(
    "-m",
    "--model",
    metavar="PROVIDER/MODEL",
    shell_complete=complete.model,
    help="Another model, for this turn only; `holdfast models` lists them.",
)
@continuing.config_option
@click.option("--detach", is_flag=True, help="Do not follow the task: it goes on in the background.")
@click.option("--no-wait", is_flag=True, help="End with code 4 when the task waits for an answer.")
@click.option("--exit", "exit_", is_flag=True, help="On a terminal, too: end with the turn, ask for no other prompt.")
@thinking_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object on each line.")
@door.command
async def retry(
    settings: Settings,
    session: str,
    model: str | None,
    config: str | None,
    detach: bool,
    no_wait: bool,
    exit_: bool,
    thinking: bool,
    as_json: bool,
) -> Exit:
    """Retry a failed turn, and follow it to its end.

    A new turn goes on where the failed one has left off: nothing has to be typed again, and what was done stays done.
    It reads the configuration anew, so fix that first if it was the reason. Ends with code 6 when the last turn did
    not fail.

    \b
    Examples:
      holdfast retry last
      holdfast retry ses_… -m openai/gpt-5
    """
    async with door.client(settings, working=True) as client:
        known = await client.session(await find.session(client, session))
        prepared = await continuing.prepare(client, known, model or known.model, config=config)
        with Sending() as sending:
            accepted = await client.retry(known.id, model=model, sources=prepared.sources)
            prepared.say()
            _introduce(known, accepted, model, continuing.configured(prepared.configuration))
            if detach and not sending.interrupted:
                click.echo(accepted.model_dump_json() if as_json else accepted.session)
                return Exit.DONE
            following = Following(
                no_wait=no_wait, stay=not exit_, configuration=prepared.configuration, thinking=thinking
            )
            return await followed(
                client, known.id, accepted.retry, sending, seq=known.seq, as_json=as_json, following=following
            )


def _introduce(known: Overview, accepted: Retrying, model: str | None, configuration: str) -> None:
    door.say(f"Session {known.id} in {exact(known.directory)}{configuration}: retrying turn {known.number}.")
    if model is not None:
        door.say(f"{exact(model)} is asked in this turn only; the session's own model stays what it was.")
    if not accepted.rung:
        door.say("The engine cannot be reached just now; the retry is recorded, and begins when it is back.")
