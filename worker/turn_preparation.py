"""What a session's next turn would use, found out before anything is sent: for every door."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from activities.files.file_type import PDF, media_type
from activities.files.named_files import find_named_files
from activities.model import catalogue
from activities.model.model_table import ModelTables
from activities.project.worktree import find_workspace
from activities.web.remote_copies import TO_BE_FETCHED
from worker import credential_handoff, model_choices
from worker.config_remarks import find_config_remarks, on_one_line
from worker.project_config import Role, effective_model, load_project_config, sources_of
from worker.session_client import SessionClient
from worker.settings import Settings
from workflows.domain.budgets import ChosenLimits
from workflows.domain.config.config import Config
from workflows.domain.config.merge import is_local
from workflows.domain.config.sources import ConfigSources
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import ConfigError, UsageError
from workflows.domain.ids import TurnConfigId
from workflows.domain.prompt import Prompt, PromptMode
from workflows.domain.views.sessions import Overview

_CHANGED: Final = "From its next turn on the session uses this shell's {}."
_NOT_CHANGED: Final = "The session looks for its configuration where this shell does already."


@dataclass
class Preparation:
    """What the turn would use, what a person should know of it and of the files of its configuration, and why it cannot
    begin. A door shows the remarks, which hold untrusted text, and has the credentials handed over as it sends."""

    settings: Settings = field(repr=False)
    sources: ConfigSources | None = None
    """Are recorded with what is sent, so that a refusal changes nothing. None: the session keeps its own."""
    turn_config: TurnConfig | None = None
    """None: it cannot be read, or the session's files are on another host."""
    model: str | None = None
    default_model: str | None = None
    """The model, where nothing names one: it goes with the first prompt."""
    config_remarks: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    late_remarks: list[str] = field(default_factory=list)
    """For when it is sent."""
    refusal: UsageError | None = None
    """`UnchosenModel` and `MisspeltModel` are questions, too: prepare again with the answer."""

    @property
    def warnings(self) -> tuple[str, ...]:
        return self.turn_config.warnings if self.turn_config is not None else ()

    @property
    def waits_for_trust(self) -> bool:
        """Whether the project's files hold what is not there until a person accepts it: another question."""
        return self.turn_config is not None and any(is_local(each.file) for each in self.turn_config.held)

    def configuration(self, prompt: Prompt) -> TurnConfigId | None:
        """The id of the prompt's configuration; None if the turn works with another one: the prompt is another agent's,
        or some of it is fetched first."""
        found, fetches = self.turn_config, any(TO_BE_FETCHED in each for each in self.warnings)
        if found is None or fetches or prompt.agent not in (None, found.agent.name):
            return None
        return found.of_prompt(prompt.format, prompt.tools).id

    def read(self, turn_config: TurnConfig, prompt: Prompt) -> None:
        """Note the configuration and what is to be said of it. Raises UsageError as `find_config_remarks`."""
        self.turn_config = turn_config
        self.config_remarks += find_config_remarks(self.settings, turn_config)
        if prompt.model is not None and turn_config.model_is_managed:
            named = on_one_line(prompt.model)
            self.remarks.append(f"Warning: -m {named} has no effect: the managed configuration sets the model.")

    def use_model(self, model: str, config: Config, prompt: Prompt, limits: ChosenLimits | None) -> None:
        """Raises UsageError for a variant that the model lacks and, under a limit of cost, for one of unknown price."""
        self.model = model
        if prompt.variant is not None:
            model_choices.check_variant(self.settings, config, model, prompt.variant)
        if limits is not None:
            model_choices.check_priced(self.settings, config, model, limits)
        self.remarks += _unseen_files(self.settings, self.require_config(), model, prompt)

    def require_config(self) -> TurnConfig:
        """Raises UsageError: the refusal, or that there is none here."""
        if self.refusal is not None:
            raise self.refusal
        if self.turn_config is None:
            raise UsageError("The session's files and commands are on another host: type it there.")
        return self.turn_config

    async def hand_over_credentials(self) -> None:
        """Give the worker this process's keys for the turn, just before it is sent. Raises UsageError: the refusal."""
        if self.refusal is not None or self.turn_config is not None:
            wanted = credential_handoff.credential_variables(self.require_config().config, self.model)
            await credential_handoff.hand_off(self.settings, wanted)


async def prepare_first_turn(
    settings: Settings,
    directory: Path,
    prompt: Prompt,
    sources: ConfigSources,
    limits: ChosenLimits,
    any_model: bool = False,
    default_model: str | None = None,
) -> Preparation:
    """A new session's turn. `any_model`: the prompt's is taken even if its name looks misspelt; `default_model`: the
    one that a person has chosen for want of another."""
    found = Preparation(settings, sources)
    try:
        turn_config = await load_project_config(settings, directory, Role(prompt.agent), sources)
        found.read(turn_config, prompt)
        model = effective_model(turn_config, prompt.model)
        if model is None:
            model = found.default_model = default_model or model_choices.choose_model(settings, turn_config, None)
            if default_model is None:
                found.remarks.append(f"{on_one_line(model)} (nothing is configured; `run -m` changes it)")
        else:
            if model == prompt.model and not any_model:
                model_choices.check_spelling(settings, turn_config.config, model)
            found.remarks += model_choices.unknown_model_remarks(settings, turn_config.config, model)
        found.use_model(model, turn_config.config, prompt, limits)
        await model_choices.check_key(settings, turn_config.config, model)
    except UsageError as error:
        found.refusal = error
    return found


async def prepare_next_turn(
    client: SessionClient,
    overview: Overview,
    prompt: Prompt,
    *,
    ask: tuple[str, ...] = (),
    config: str | None = None,
    limits: ChosenLimits | None = None,
) -> Preparation:
    """The next turn of a session, which keeps its model and agent unless the prompt names others. `ask`: what more is
    asked about; `config`: `here` for this process's sources. Raises NotFound."""
    settings, found = client.settings, Preparation(client.settings)
    if overview.host != settings.host:
        if config is not None:
            found.refusal = UsageError(f"The session's files are on host {overview.host!r}: use `--config here` there.")
        return found
    origin = await client.sessions.origin(overview.id)
    try:
        found.sources = _new_sources(settings, origin.sources, config, ask)
        if found.sources is not None:
            names = ", ".join(found.sources.changed_from(origin.sources))
            found.late_remarks.append(_CHANGED.format(names) if names else _NOT_CHANGED)
        if config is None and origin.sources is not None:
            found.remarks += _differences(settings, origin.sources)
        role = Role(prompt.agent or origin.agent, origin.rules, origin.ancestors)
        directory, sources = Path(overview.directory), found.sources or origin.sources
        turn_config = await load_project_config(settings, directory, role, sources, database=client.database)
        found.read(turn_config, prompt)
        model = origin.model
        if prompt.model is not None or prompt.variant is not None or overview.turn_state != "open":
            named = turn_config.named_model(prompt.model, model, other_agent=role.agent != origin.began_as)
            model = model_choices.choose_model(settings, turn_config, named, overview.model)
        if model is not None:
            if model == prompt.model:
                found.remarks += model_choices.model_name_remarks(settings, turn_config.config, model)
            found.use_model(model, turn_config.config, prompt, limits)
    except UsageError as error:
        found.refusal = error
    return found


def _new_sources(
    settings: Settings, known: ConfigSources | None, config: str | None, ask: tuple[str, ...]
) -> ConfigSources | None:
    """This shell's, or the session's own; with what more is asked about, never less. None: they stay as they are."""
    if config is None and not ask:
        return None
    found = sources_of(settings) if config is not None or known is None else known
    asked = dict.fromkeys((*(known.ask if known is not None else ()), *ask))
    return found.model_copy(update={"ask": tuple(asked)})


def joined_turn_remarks(overview: Overview, prompt: Prompt) -> Iterator[str]:
    """For when it is sent: a prompt for another agent may join the open turn."""
    joins = overview.turn_state == "open" and prompt.mode is PromptMode.STEER and not prompt.opens_turn
    if joins and prompt.agent not in (None, overview.agent):
        yield (
            f"Turn {overview.number} is at work as {on_one_line(overview.agent)}, and the prompt joins it. "
            f"{on_one_line(prompt.agent or '')} works in a turn that begins with a prompt: send it with --queue."
        )


def _differences(settings: Settings, sources: ConfigSources) -> Iterator[str]:
    """This shell's sources may differ: the session keeps its own."""
    try:
        differing = sources.differences(sources_of(settings).model_copy(update={"ask": sources.ask}))
    except ConfigError as error:
        yield f"The session keeps its own configuration; this shell's cannot be used: {error}"
        return
    if differing:
        yield (
            f"The session keeps the configuration it was started with; this shell has another {', '.join(differing)}. "
            "To use this shell's: --config here"
        )


def _unseen_files(settings: Settings, turn_config: TurnConfig, model: str, prompt: Prompt) -> Iterator[str]:
    """Pictures and PDF files that a step of the prompt would read and the model cannot see, as far as is known."""
    if not prompt.references:
        return
    with suppress(UsageError):  # the turn says why it cannot be asked
        facts = catalogue.facts_of(model, turn_config.config.provider, ModelTables(settings.models_file))
        directory, home = Path(turn_config.directory), Path(turn_config.home or Path.home())
        workspace = find_workspace(directory, data=home, home=home, temporary=directory)
        files = find_named_files(prompt, workspace)
        for path in dict.fromkeys(Path(directory, str(each.arguments["filePath"])) for each in files):
            mime = media_type(b"", path)
            if mime is not None and not (facts.documents if mime == PDF else facts.images):
                kind, name = "read PDF files" if mime == PDF else "see pictures", on_one_line(path.name)
                yield f"{on_one_line(model)} cannot {kind}, as far as is known: it learns only that {name} is there."
