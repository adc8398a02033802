"""What a directory says to whoever starts or continues a session there; where it is looked for, from Settings."""

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from activities.model.providers import must_be_known, parted
from activities.project.load import PRIMARY
from activities.project.load import Role as Role
from activities.project.sources import CONTENT, PERMISSION, read_sources
from activities.project.survey import Surveyor
from worker.settings import Settings
from worker.stack import state
from worker.stack.layout import Layout
from workflows.domain.config.references import has_reference
from workflows.domain.config.snapshot import ProjectSnapshot
from workflows.domain.config.sources import ConfigSources
from workflows.domain.ids import SessionId


async def survey(
    settings: Settings, directory: Path, role: Role = PRIMARY, sources: ConfigSources | None = None
) -> ProjectSnapshot:
    """The configuration of a directory, as a turn that began now would find it.

    `sources` are those of the session; by default those that a session of this shell would have. Raises UsageError:
    for a file that is wrong, and for an agent that cannot work there.
    """
    known = sources or sources_of(settings)
    found = surveyor(settings, settings.environment)
    note = state.noted(Layout(home=settings.home).worker)
    if note is not None and note.temporary is not None and note.managed is not None:  # as the worker sees it
        found = replace(found, temporary=note.temporary, managed=note.managed)
    return await found.load(str(directory), known, role)


def model_of(snapshot: ProjectSnapshot, named: str | None) -> str | None:
    """The model that a turn asks which begins under this configuration; None where nothing names one.

    `named` is that of a flag or of the session: it counts unless an administrator has set one. Raises UsageError for a
    model that no worker can ask; references in configured names are the worker's to look up.
    """
    own = None if snapshot.model_is_managed else named
    model = own or snapshot.agent.model or snapshot.config.model
    if model is not None and (own or not has_reference(model)):
        must_be_known(parted(model)[0], snapshot.config.provider)
    return model


def role(agent: str, parent: SessionId | None) -> Role:
    """As what a session works that is there already; its agent is only a subagent's below another session."""
    return Role(agent, ancestors=0 if parent is None else 1)


def sources_of(settings: Settings) -> ConfigSources:
    """What the variables of this process say of configuration, to be recorded with a session. Raises ConfigError."""
    return _read(settings, settings.environment)


def surveyor(settings: Settings, environ: Mapping[str, str]) -> Surveyor:
    """Reads what directories say, for doors and for the worker; `environ` holds what references name."""
    # A session that an earlier release has started has no sources of its own, and never had contents of variables.
    paths = {name: value for name, value in settings.environment.items() if name not in (CONTENT, PERMISSION)}
    temporary = Path(tempfile.gettempdir())
    return Surveyor(settings.home, temporary, settings.managed_config, environ, _read(settings, paths))


def _read(settings: Settings, environ: Mapping[str, str]) -> ConfigSources:
    home = Path(settings.environment.get("HOME") or Path.home())
    return read_sources(environ, home=home, folder=settings.config)
