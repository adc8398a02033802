"""Loads the configuration of a session's directory."""

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from activities.files.workspace import Workspace
from activities.model.providers import check_model
from activities.project.checked_config import CheckedConfig
from activities.project.config_loader import PRIMARY_ROLE
from activities.project.config_loader import Role as Role
from activities.project.config_variables import CONTENT_VARIABLE, PERMISSION_VARIABLE, read_sources
from activities.project.project_loader import ProjectLoader
from worker.settings import Settings
from worker.stack import state_file
from worker.stack.layout import Layout
from workflows.domain.config.accepted_trust import AcceptedTrust
from workflows.domain.config.references import has_reference
from workflows.domain.config.sources import ConfigSources
from workflows.domain.config.trust_items import TrustContent
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import UsageError
from workflows.domain.skills import usable_skills

if TYPE_CHECKING:
    from activities.model.default_model import DefaultModels
    from activities.project.command_loader import FoundCommands
    from activities.store.database import Database


async def load_project_config(
    settings: Settings,
    directory: Path,
    role: Role = PRIMARY_ROLE,
    sources: ConfigSources | None = None,
    *,
    database: "Database | None" = None,
) -> TurnConfig:
    """The configuration that a turn starting now would find; `sources` are by default this shell's. What a person has
    accepted is in the `database`: without one, in the stack's while it runs.

    Raises UsageError for an invalid file, and for an agent that cannot work there.
    """
    known = sources or sources_of(settings)
    find_accepted = partial(_find_accepted, settings, directory, database=database)
    return await _loader_of_worker(settings).load(str(directory), known, role, find_accepted)


async def check_project_trust(
    settings: Settings, directory: Path, sources: ConfigSources | None = None
) -> CheckedConfig:
    """What of a directory's configuration takes effect only once it is accepted. Raises UsageError."""
    return await _loader_of_worker(settings).check_trust(str(directory), sources or sources_of(settings))


def find_project(settings: Settings, directory: Path) -> Workspace:
    """The directory's workspace; does not read its configuration."""
    return project_loader(settings, settings.environment).workspace(str(directory))


async def _find_accepted(
    settings: Settings, directory: Path, content: TrustContent, *, database: "Database | None" = None
) -> AcceptedTrust | None:
    from activities.store import trust_records  # few projects need it
    from worker.inbox_reader import door_database
    from worker.stack.status import endpoints

    where = settings.host, content.places.root, str(directory), content
    if database is not None:
        return (await trust_records.read_decided(database, *where)).accepted
    addresses = endpoints(settings)
    if addresses is None:
        return None
    async with door_database(addresses) as opened:
        return (await trust_records.read_decided(opened, *where)).accepted


async def load_checked_config(settings: Settings, directory: Path) -> CheckedConfig:
    """This shell's configuration of a directory, with what a person has accepted. Raises UsageError for an invalid
    one."""
    find_accepted = partial(_find_accepted, settings, directory)
    return await _loader_of_worker(settings).check_trust(str(directory), sources_of(settings), find_accepted)


async def load_commands(
    settings: Settings, turn_config: TurnConfig, sources: ConfigSources | None = None
) -> "FoundCommands":
    """The slash commands of a directory, with the skills that its configuration allows. Raises UsageError."""
    skills = usable_skills(turn_config.skills, turn_config.rules)
    return await _loader_of_worker(settings).commands(turn_config.directory, sources or sources_of(settings), skills)


def _loader_of_worker(settings: Settings) -> ProjectLoader:
    """A loader that reads what the worker reads."""
    found = project_loader(settings, settings.environment)
    note = state_file.read_worker_note(Layout(home=settings.home).worker)
    if note is not None and note.temporary is not None and note.managed is not None:
        return replace(found, temporary=note.temporary, managed=note.managed)
    return found


def default_models(settings: Settings) -> "DefaultModels":
    """Those that a turn starting now could have."""
    # Start-up time: the tables of models.
    from activities.credentials.keys import Keys
    from activities.model.default_model import DefaultModels
    from activities.model.model_table import ModelTables
    from worker.credential_handoff import CredentialEnvironment

    return DefaultModels(Keys(settings.auth), CredentialEnvironment(settings), ModelTables(settings.models_file))


def effective_model(turn_config: TurnConfig, named: str | None) -> str | None:
    """The model of a turn starting now; None if none is named.

    `named`, from a flag or the session, yields to an administrator's choice. Raises UsageError for a model that no
    worker can ask.
    """
    own = None if turn_config.model_is_managed else named
    agent = turn_config.agent
    model = own or (None if agent.model_family else agent.model) or turn_config.config.model
    if model is not None and (own or not has_reference(model)):
        try:
            check_model(model, turn_config.config)
        except UsageError as error:
            provider = f"provider.{model.partition('/')[0]}"
            held = any(each.field == provider for each in turn_config.held)
            more = " The project's files have it, once you accept them: `holdfast trust`." if held else ""
            raise UsageError(f"{error}{more}") from error
    return model


def sources_of(settings: Settings) -> ConfigSources:
    """This process's sources. Raises ConfigError."""
    return _read(settings, settings.environment)


def project_loader(settings: Settings, environ: Mapping[str, str]) -> ProjectLoader:
    """`environ` holds referenced names."""
    # Sessions of an earlier release have no sources.
    paths = {
        name: value
        for name, value in settings.environment.items()
        if name not in (CONTENT_VARIABLE, PERMISSION_VARIABLE)
    }
    temporary = Path(tempfile.gettempdir())
    return ProjectLoader(settings.home, temporary, settings.managed_config, environ, _read(settings, paths))


def _read(settings: Settings, environ: Mapping[str, str]) -> ConfigSources:
    home = Path(settings.environment.get("HOME") or Path.home())
    return read_sources(environ, home=home, folder=settings.config)
