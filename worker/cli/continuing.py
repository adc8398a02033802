"""What commands look at before they go on with a session: its configuration, and the keys of this shell."""

from pathlib import Path
from typing import Final

import click

from worker import handover
from worker.cli import door, project
from worker.client import Overview, SessionClient
from worker.settings import Settings
from worker.survey import Role, sources_of, survey
from workflows.domain.config.snapshot import ProjectSnapshot
from workflows.domain.config.sources import ConfigSources
from workflows.domain.errors import ConfigError, UsageError
from workflows.domain.ids import SnapshotId
from workflows.domain.value import Value

_NO_CHANGE: Final = "The session looks for its configuration where this shell does already."

config_option: Final = click.option(
    "--config",
    "config",
    type=click.Choice(["here"]),
    help="From the next turn on, look for the session's configuration where this shell does.",
)


class Prepared(Value):
    """What the directory of a session says for its next turn: None where its files are on another host.

    `sources` are to be recorded with what is sent, so that nothing changes where it is refused; `changed` are the
    variables that say something new in them.
    """

    snapshot: ProjectSnapshot | None = None
    sources: ConfigSources | None = None
    changed: tuple[str, ...] = ()

    @property
    def configuration(self) -> SnapshotId | None:
        """The configuration that the next turn will freeze, if nothing is changed until then."""
        return self.snapshot.id if self.snapshot is not None else None

    def say(self) -> None:
        """Say what was recorded."""
        if self.sources is None:
            return
        names = ", ".join(self.changed)
        door.say(f"From its next turn on the session uses this shell's {names}." if names else _NO_CHANGE)


async def prepare(client: SessionClient, known: Overview, model: str | None, *, config: str | None = None) -> Prepared:
    """Read what the session's directory says, as its next turn will, and hand over the keys of this shell.

    With `config` ("here") the session is to look for its configuration where this shell does, from its next turn on.
    `model` is the one that was named; by default it is the session's. Raises UsageError, also for a model that no
    worker can ask, unless the prompt is for a turn that is at work, which has its model.
    """
    if known.host != client.settings.host:
        if config is not None:
            raise UsageError(f"The session's files are on host {known.host!r}: use `--config here` there.")
        return Prepared()
    origin = await client.origin(known.id)
    here = None if config is None else sources_of(client.settings)
    if here is None and origin.sources is not None:
        _compare(client.settings, origin.sources)
    role = Role(origin.agent, origin.rules, origin.ancestors)
    snapshot = await survey(client.settings, Path(known.directory), role, here or origin.sources)
    needed = model is not None or known.turn_state != "open"
    chosen = project.chosen_model(client.settings, snapshot, model or origin.model) if needed else origin.model
    await handover.hand_over(client.settings, handover.names(snapshot.config, chosen))
    changed = here.changed_from(origin.sources) if here is not None else ()
    return Prepared(snapshot=snapshot, sources=here, changed=changed)


def configured(snapshot: SnapshotId | None) -> str:
    """A configuration as it follows the name of a session."""
    return f", configuration {snapshot}" if snapshot is not None else ""


def _compare(settings: Settings, sources: ConfigSources) -> None:
    """Say what this shell says differently about configuration: the session's own counts."""
    try:
        differing = sources.differing(sources_of(settings))
    except ConfigError as error:
        door.say(f"The session keeps its own configuration; this shell's cannot be used: {error}")
        return
    if differing:
        names = ", ".join(differing)
        door.say(
            f"The session keeps the configuration it was started with; this shell has another {names}. "
            "To use this shell's: --config here"
        )
