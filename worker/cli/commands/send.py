"""`holdfast send`: a prompt for a session. Apart from those that only list and stop, which need no configuration."""

import click

from worker.cli import complete, continuing, door, find, typed
from worker.cli.look import parking
from worker.cli.look.text import behind
from worker.client import Mode
from worker.settings import Settings


@click.command()
@click.argument("session", shell_complete=complete.session)
@click.argument("words", nargs=-1, metavar="[PROMPT]...")
@click.option("--queue", is_flag=True, help="In a turn of its own, after the running one.")
@click.option(
    "-m",
    "--model",
    metavar="PROVIDER/MODEL",
    shell_complete=complete.model,
    help="The model, if a turn begins with this prompt; `holdfast models` lists them.",
)
@continuing.config_option
@click.option("--edit", is_flag=True, help="Write the prompt in your editor.")
@click.option("--id", "identity", metavar="MSG", help="An id of your own: the same command again is the same prompt.")
@click.option("--json", "as_json", is_flag=True, help="What was accepted, as JSON.")
@door.command
async def send(
    settings: Settings,
    session: str,
    words: tuple[str, ...],
    queue: bool,
    model: str | None,
    config: str | None,
    edit: bool,
    identity: str | None,
    as_json: bool,
) -> None:
    """Send a prompt to a session.

    A turn that runs sees it at its next step, or, with --queue, another turn follows. `-` stands for standard input.

    \b
    Examples:
      holdfast send ses_… "also update the docs"
      holdfast send last --queue "then write the changelog"
    """
    text, own = typed.prompt(words, edit=edit), typed.identity(identity)
    async with door.client(settings, working=True) as client:
        known = await client.session(await find.session(client, session))
        prepared = await continuing.prepare(client, known, model, config=config)
        mode = Mode.QUEUE if queue else Mode.STEER
        accepted = await client.prompt(known.id, text, mode=mode, model=model, prompt=own, sources=prepared.sources)
        prepared.say()
        asks = await client.asks(session=known.id)
        waiting = (await client.session(known.id)).waiting if asks else 0
    click.echo(accepted.model_dump_json() if as_json else f"Accepted by {known.id}.")
    parking.say(known)
    if asks and waiting:
        door.say(f"{behind(waiting, asks[0].id)}: holdfast asks --session {known.id}")
    if not accepted.rung:
        door.say("The engine cannot be reached just now; the prompt is recorded, and is taken when it is back.")
