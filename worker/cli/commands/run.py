"""`holdfast run`: give a task, follow it, and answer what it asks."""

import json
from pathlib import Path

import click

from activities.shell.environment import recorded
from worker import handover
from worker.cli import complete, continuing, door, find, neighbours, project, typed
from worker.cli.continuing import Prepared
from worker.cli.conversation import Following, followed
from worker.cli.current import current_directory
from worker.cli.exits import Exit
from worker.cli.follow import at_a_terminal, thinking_option
from worker.cli.look import parking
from worker.cli.look.screen import live
from worker.cli.look.text import exact, line
from worker.cli.opening import first_prompt
from worker.cli.sending import Sending
from worker.client import Accepted, Overview, SessionClient
from worker.settings import Settings
from worker.survey import Role, sources_of, survey
from workflows.domain.config.snapshot import ProjectSnapshot
from workflows.domain.config.sources import ConfigSources
from workflows.domain.errors import Conflict, UsageError
from workflows.domain.ids import MessageId, SnapshotId, session_of
from workflows.domain.value import Value


class Task(Value):
    """What was typed."""

    text: str
    model: str | None
    agent: str | None
    session: str | None
    config: str | None
    prompt: MessageId | None


class Ready(Value):
    """What the directory of a new session says, and where that was looked for: read once, and shown as it is started.

    The files may change before the turn begins: the turn reads them again, and has its own configuration.
    """

    directory: Path
    sources: ConfigSources
    snapshot: ProjectSnapshot


class Begun(Value):
    """A task whose prompt was accepted; `seq` is where the log stood before."""

    accepted: Accepted
    seq: int
    directory: str
    configuration: SnapshotId | None


@click.command()
@click.argument("words", nargs=-1, metavar="[PROMPT]...")
@click.option(
    "-m",
    "--model",
    metavar="PROVIDER/MODEL",
    shell_complete=complete.model,
    help="The model, instead of the configured one; `holdfast models` lists them.",
)
@click.option("--agent", metavar="NAME", help="The agent, instead of the configured one or `build`.")
@click.option(
    "-s",
    "--session",
    metavar="SESSION",
    shell_complete=complete.session,
    help="Go on in this session: an id, its beginning, or `last`.",
)
@click.option("-c", "--continue", "again", is_flag=True, help="Go on in the last session of this directory.")
@continuing.config_option
@click.option("--edit", is_flag=True, help="Write the prompt in your editor.")
@click.option("--id", "identity", metavar="MSG", help="An id of your own: the same command again is the same task.")
@click.option("--detach", is_flag=True, help="Do not follow the task: it goes on in the background.")
@click.option("--no-wait", is_flag=True, help="End with code 4 when the task waits for an answer.")
@click.option("--exit", "exit_", is_flag=True, help="On a terminal, too: end with the turn, ask for no other prompt.")
@thinking_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object on each line.")
@door.command
async def run(
    settings: Settings,
    words: tuple[str, ...],
    model: str | None,
    agent: str | None,
    session: str | None,
    again: bool,
    config: str | None,
    edit: bool,
    identity: str | None,
    detach: bool,
    no_wait: bool,
    exit_: bool,
    thinking: bool,
    as_json: bool,
) -> Exit:
    """Give a task to the agent, and follow it to its end.

    The agent works in the current directory. PROMPT is plain words; `-` stands for standard input. On a terminal, what
    you type while the agent works is a prompt too, and you are asked for the next one when a turn has ended; without a
    PROMPT for the first one. Ctrl-C stops the turn, for good even if everything dies at once; a second Ctrl-C only
    leaves, and so does a closed terminal.

    \b
    Examples:
      holdfast run "make the tests pass"
      holdfast run -m anthropic/claude-sonnet-4-5 --detach "update the changelog"
      git diff | holdfast run "review this:" -
      holdfast run -c "now do the same for the docs"
    """
    own, session = typed.identity(identity), _meant(session, again)
    here = not (words or edit or own or detach or no_wait or as_json) and at_a_terminal()
    text = "" if here else typed.prompt(words, edit=edit)
    task = Task(text=text, model=model, agent=agent, session=session, config=config, prompt=own)
    ready = await _ready(settings, current_directory(), task) if session is None else None
    if ready is not None and here:
        chosen = project.chosen_model(settings, ready.snapshot, model)
        first = await first_prompt(chosen, current_directory(), live=live(settings))
        if first is None:
            return Exit.DONE
        task = task.model_copy(update={"text": first})
    following = Following(no_wait=no_wait, stay=not exit_, model=model, thinking=thinking)
    async with door.client(settings, working=True) as client:
        with Sending() as sending:
            if not task.text:
                return await _reopen(client, task, sending, following)
            begun = await (_begin(client, task, ready) if ready is not None else _go_on(client, task))
            await _introduce(client, begun)
            accepted = begun.accepted
            if detach and not sending.interrupted:
                _leave(begun, as_json)
                return Exit.DONE
            shown = following.model_copy(update={"configuration": begun.configuration})
            return await followed(
                client, accepted.session, accepted.prompt, sending, seq=begun.seq, as_json=as_json, following=shown
            )


def _meant(session: str | None, again: bool) -> str | None:
    """The session that is gone on in. Raises UsageError."""
    if session is not None and again:
        raise UsageError("--session and --continue both name a session: give one of them.")
    return find.LAST if again else session


async def _ready(settings: Settings, directory: Path, task: Task) -> Ready:
    """See what the directory says before anything is started, and hand over the keys of this shell."""
    sources = sources_of(settings)
    snapshot = await survey(settings, directory, Role(task.agent), sources)
    _remark(settings, snapshot, task)
    model = project.chosen_model(settings, snapshot, task.model)
    await handover.hand_over(settings, handover.names(snapshot.config, model))
    return Ready(directory=directory, sources=sources, snapshot=snapshot)


def _remark(settings: Settings, snapshot: ProjectSnapshot, task: Task) -> None:
    """Say what of the configuration, and of what was typed, has no effect."""
    for remark in project.remarks(settings, snapshot):
        door.say(remark)
    if task.model is not None and snapshot.model_is_managed:
        door.say(f"Warning: -m {exact(task.model)} has no effect: the managed configuration sets the model.")


async def _begin(client: SessionClient, task: Task, ready: Ready) -> Begun:
    directory = str(ready.directory)
    if client.settings.holds_user_home(ready.directory):
        door.say(f"The agent works in {exact(directory)}, which holds your whole home: a project's directory is safer.")
    environment = recorded(client.settings.environment)
    accepted = await client.start(
        directory,
        task.text,
        model=task.model,
        environment=environment,
        sources=ready.sources,
        snapshot=ready.snapshot,
        session=session_of(task.prompt) if task.prompt else None,
        prompt=task.prompt,
    )
    return Begun(accepted=accepted, seq=0, directory=directory, configuration=ready.snapshot.id)


async def _reopen(client: SessionClient, task: Task, sending: Sending, following: Following) -> Exit:
    """Go on in a session with what is typed from now on."""
    known, prepared = await _known(client, task)
    if known.status == "ended":
        raise Conflict(f"Session {known.id} ({line(known.title)}) has ended: it takes no prompt any more.")
    if prepared.sources is not None:
        await client.configure(known.id, prepared.sources)
        prepared.say()
    configured = continuing.configured(prepared.configuration)
    door.say(f"{line(known.title)} · session {known.id} in {exact(known.directory)}{configured}")
    await neighbours.tell(client, known.id)
    parking.say(known)
    turn = known.turn if known.turn_state == "open" else None
    opened = following.model_copy(update={"turn": turn, "configuration": prepared.configuration})
    return await followed(client, known.id, None, sending, seq=known.seq, as_json=False, following=opened)


async def _known(client: SessionClient, task: Task) -> tuple[Overview, Prepared]:
    """The session that is gone on in, and what its directory says. Raises UsageError, NotFound."""
    known = await client.session(await find.session(client, task.session or "last"))
    if task.agent not in (None, known.agent):
        raise UsageError(
            f"Session {known.id} works as {exact(known.agent)}, and a session keeps its agent: start a new one for "
            f"{exact(task.agent)}, without --session."
        )
    prepared = await continuing.prepare(client, known, task.model, config=task.config)
    if prepared.snapshot is not None:
        _remark(client.settings, prepared.snapshot, task)
    return known, prepared


async def _go_on(client: SessionClient, task: Task) -> Begun:
    known, prepared = await _known(client, task)
    accepted = await client.prompt(known.id, task.text, model=task.model, prompt=task.prompt, sources=prepared.sources)
    prepared.say()
    parking.say(known)
    # A prompt with an id may have been accepted long before: then its story has begun already.
    return Begun(
        accepted=accepted,
        seq=0 if task.prompt else known.seq,
        directory=known.directory,
        configuration=prepared.configuration,
    )


async def _introduce(client: SessionClient, begun: Begun) -> None:
    door.say(
        f"Session {begun.accepted.session} in {exact(begun.directory)}{continuing.configured(begun.configuration)}"
    )
    await neighbours.tell(client, begun.accepted.session)
    if not begun.accepted.rung:
        door.say("The engine cannot be reached just now; the task is recorded, and begins when it is back.")


def _leave(begun: Begun, as_json: bool) -> None:
    session = begun.accepted.session
    if as_json:
        click.echo(json.dumps({**begun.accepted.model_dump(), "configuration": begun.configuration}))
        return
    click.echo(session)
    door.say(f"It works in the background. To follow it: holdfast watch {session}")
