"""What commands look at before they go on with a session: its configuration, and the keys of this shell."""

from pathlib import Path
from typing import Final

import click

from worker import handover
from worker.cli import door
from worker.client import Overview, SessionClient
from worker.settings import Settings
from worker.survey import Role, sources_of, survey
from workflows.domain.config.snapshot import ProjectSnapshot
from workflows.domain.config.sources import ConfigSources
from workflows.domain.errors import ConfigError, UsageError

config_option: Final = click.option(
    "--config",
    "config",
    type=click.Choice(["here"]),
    help="From the next turn on, look for the session's configuration where this shell does.",
)


async def prepare(
    client: SessionClient, known: Overview, model: str | None, *, config: str | None = None
) -> ProjectSnapshot | None:
    """Read what the session's directory says, as its next turn will, and hand over the keys of this shell.

    With `config` ("here") the session looks for its configuration where this shell does, from its next turn on. None
    for a session whose files are on another host. Raises UsageError.
    """
    if known.host != client.settings.host:
        if config is not None:
            raise UsageError(f"The session's files are on host {known.host!r}: use `--config here` there.")
        return None
    origin = await client.origin(known.id)
    sources = origin.sources
    if config is not None:
        sources = sources_of(client.settings)
    elif sources is not None:
        _compare(client.settings, sources)
    role = Role(origin.agent, origin.rules, origin.ancestors)
    snapshot = await survey(client.settings, Path(known.directory), role, sources)
    if config is not None and sources is not None:
        _say(await client.configure(known.id, sources))
    await handover.hand_over(client.settings, handover.names(snapshot.config, model or known.model))
    return snapshot


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


def _say(changed: tuple[str, ...]) -> None:
    names = ", ".join(changed)
    door.say(
        f"From its next turn on the session uses this shell's {names}." if changed else "Its configuration is this one."
    )
