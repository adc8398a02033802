"""The session that `holdfast run` follows: a new one, or one to go on in."""

import sys

from activities.shell.environment import session_environment
from worker import credential_handoff
from worker.cli import config_remarks, id_lookup, model_choices, model_dialog, session_preparation
from worker.cli.budget_options import ChosenLimits, check_priced
from worker.cli.command_support import current_directory, print_note
from worker.cli.render import suspension_text
from worker.cli.render.escaping import escape_exact, escape_prose, one_line
from worker.cli.session_preparation import PreparedSession, warn_of_unseen_files
from worker.command_prompts import expand_command
from worker.project_config import Role, effective_model, load_project_config, sources_of
from worker.session_client import SessionClient
from worker.settings import Settings
from workflows.domain.config.merge import is_local
from workflows.domain.config.sources import ConfigSources
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import Conflict, UsageError
from workflows.domain.ids import MessageId, SessionId, TurnConfigId, TurnId, session_id_for
from workflows.domain.messages import FilePart
from workflows.domain.output_format import OutputFormat
from workflows.domain.prompt import Prompt
from workflows.domain.value import Value
from workflows.domain.views.accepted import AcceptedPrompt
from workflows.domain.views.sessions import Overview


class RunArguments(Value):
    """`command`: the slash command whose arguments the text is; `made`: the prompt that it has become. `piped_at` as
    in `PromptContent`. `default_model`: of a new session, where nothing names one."""

    text: str
    piped_at: tuple[tuple[int, int], ...] | None = None
    command: str | None = None
    made: Prompt | None = None
    files: tuple[FilePart, ...] = ()
    subtask: str | None
    system: str | None
    model: str | None
    any_model: bool = False
    default_model: str | None = None
    variant: str | None
    agent: str | None
    ask: tuple[str, ...] = ()
    title: str | None
    session: str | None
    config: str | None
    format: OutputFormat | None
    prompt: MessageId | None
    limits: ChosenLimits
    detached: bool = False

    @property
    def typed(self) -> Prompt:
        """The prompt as it was typed, without the arguments of a command, which refer to nothing."""
        return self.message if self.command is None else self._given

    @property
    def message(self) -> Prompt:
        if self.made is not None:
            return self.made
        return self._given.with_text(self.text, subtask=self.subtask)

    @property
    def _given(self) -> Prompt:
        named = {"agent": self.agent, "model": self.model, "variant": self.variant, "piped_at": self.piped_at}
        return Prompt(parts=self.files, system=self.system, format=self.format, limits=self.limits.turn, **named)

    def sources(self, settings: Settings) -> ConfigSources:
        """A new session's. Raises ConfigError."""
        unattended = self.detached or not (sys.stdin.isatty() or sys.stdout.isatty())
        return sources_of(settings).model_copy(update={"ask": self.ask, "unattended": unattended})

    def first_message(self, turn_config: TurnConfig) -> Prompt:
        """A new session's: what was chosen where nothing names a model is its model."""
        message = self.message
        named = effective_model(turn_config, message.model) is not None
        return message if named else message.model_copy(update={"model": self.default_model})

    def configuration(self, turn_config: TurnConfig | None) -> TurnConfigId | None:
        """The id of the turn's configuration, if the prompt keeps its agent."""
        agent = self.made.agent if self.made is not None else None
        if turn_config is None or agent not in (None, turn_config.agent.name):
            return None
        return session_preparation.known_id(turn_config.of_prompt(self.format, None))

    async def expand(
        self,
        settings: Settings,
        turn_config: TurnConfig | None,
        sources: ConfigSources | None = None,
        model: str | None = None,
    ) -> "RunArguments":
        """The same with the prompt that its command, if any, becomes; `model`: the session's. Raises UsageError."""
        if self.command is None or self.made is not None:
            return self
        if turn_config is None:
            raise UsageError("The session's files and commands are on another host: type it there.")
        made = await expand_command(
            settings, turn_config, self.command, self.text, self._given, sources, session_model=model, warn=_warn
        )
        return self.model_copy(update={"made": made})


def _warn(warning: str) -> None:
    print_note(escape_prose(warning))


class StartedRun(Value):
    """A session to follow after event `seq`; `accepted`: the prompt, unless the person types it. `current_agent`: the
    one that a turn begins with where nothing names another. `warnings`: those of its configuration that were shown."""

    session: SessionId
    name: str
    directory: str
    current_agent: str
    seq: int
    configuration: TurnConfigId | None
    warnings: tuple[str, ...] = ()
    accepted: AcceptedPrompt | None = None
    turn: TurnId | None = None


async def load_config(
    settings: Settings, request: RunArguments, trust: str | None = None
) -> tuple[RunArguments, TurnConfig]:
    """Read a new session's configuration early, and hand over this shell's keys; the turn reads the files again. The
    result names a model. `trust`: the digest of what is accepted first. Raises UsageError for what is known to fail."""
    role, directory, sources = Role(request.agent), current_directory(), request.sources(settings)
    turn_config = await load_project_config(settings, directory, role, sources)
    if trust is not None or any(is_local(each.file) for each in turn_config.held):
        from worker.cli import trust_dialog  # few projects need it

        if trust is not None:
            await trust_dialog.accept_named(settings, directory, trust)
        await trust_dialog.ask_at_start(settings, directory)
        turn_config = await load_project_config(settings, directory, role, sources)
    _print_remarks(settings, turn_config, request)
    request, turn_config = await _choose_model(settings, request, turn_config)
    model = effective_model(turn_config, request.model) or request.default_model
    assert model is not None
    if request.variant is not None:
        model_choices.check_variant(settings, turn_config.config, model, request.variant)
    check_priced(settings, turn_config.config, model, request.limits)
    warn_of_unseen_files(settings, turn_config, model, request.typed)
    await model_choices.check_key(settings, turn_config.config, model)
    await credential_handoff.hand_off(settings, credential_handoff.credential_variables(turn_config.config, model))
    return request, turn_config


async def _choose_model(
    settings: Settings, request: RunArguments, turn_config: TurnConfig
) -> tuple[RunArguments, TurnConfig]:
    model = effective_model(turn_config, request.model)
    if model is None:
        chosen = model_dialog.choose_default(settings, turn_config)
        if chosen.kept:
            role, sources = Role(request.agent), request.sources(settings)
            turn_config = await load_project_config(settings, current_directory(), role, sources)
        return request.model_copy(update={"default_model": chosen.model}), turn_config
    if model == request.model and not request.any_model:
        model = model_dialog.confirm_spelling(settings, turn_config, model)
        request = request.model_copy(update={"model": model})
    config_remarks.report_unknown_model(settings, turn_config, model)
    return request, turn_config


async def start_session(client: SessionClient, request: RunArguments, turn_config: TurnConfig) -> StartedRun:
    directory = current_directory()
    if client.settings.holds_user_home(directory):
        print_note(
            f"The agent works in {escape_exact(str(directory))}, which holds your whole home: "
            "a project's directory is safer."
        )
    request = await request.expand(client.settings, turn_config)
    accepted = await client.start(
        str(directory),
        request.first_message(turn_config),
        title=request.title,
        environment=session_environment(client.settings.environment),
        sources=request.sources(client.settings),
        turn_config=turn_config,
        session=session_id_for(request.prompt) if request.prompt else None,
        prompt=request.prompt,
        limits=request.limits.session,
    )
    return StartedRun(
        session=accepted.session,
        name=f"Session {accepted.session}",
        directory=str(directory),
        current_agent=turn_config.agent.name,
        seq=0,
        configuration=request.configuration(turn_config),
        warnings=turn_config.warnings,
        accepted=accepted,
    )


async def continue_session(client: SessionClient, request: RunArguments) -> StartedRun:
    """Raises UsageError, NotFound; Conflict if the session has ended."""
    overview = await client.sessions.get(await id_lookup.find_session(client, request.session or "last"))
    prepared = await session_preparation.prepare_session(
        client,
        overview,
        request.model,
        variant=request.variant,
        agent=request.agent,
        config=request.config,
        ask=request.ask,
        limits=request.limits,
        prompt=request.typed,
    )
    if prepared.turn_config is not None:
        _print_remarks(client.settings, prepared.turn_config, request)
    request = await request.expand(client.settings, prepared.turn_config, prepared.sources, overview.model)
    typed = bool(request.text or request.made)
    accepted = await (_send_prompt if typed else _open_without_prompt)(client, request, overview, prepared)
    prepared.report()
    suspension_text.print_suspension(overview)
    return StartedRun(
        session=overview.id,
        name=f"Session {overview.id}" if typed else f"{one_line(overview.title)} · session {overview.id}",
        directory=overview.directory,
        current_agent=overview.agent,
        seq=0 if request.prompt else overview.seq,  # a prompt with an id may be an old one: its events come first
        configuration=request.configuration(prepared.turn_config) if typed else prepared.configuration,
        warnings=prepared.warnings,
        accepted=accepted,
        turn=overview.turn if not typed and overview.turn_state == "open" else None,
    )


async def _send_prompt(
    client: SessionClient, request: RunArguments, overview: Overview, prepared: PreparedSession
) -> AcceptedPrompt:
    accepted = await client.prompt(
        overview.id,
        request.message,
        prompt=request.prompt,
        sources=prepared.sources,
        turn_config=prepared.turn_config,
        limits=request.limits.session,
    )
    if not request.message.opens_turn:
        session_preparation.report_joined_turn(overview, request.agent)
    return accepted


async def _open_without_prompt(
    client: SessionClient, _: RunArguments, overview: Overview, prepared: PreparedSession
) -> None:
    """Open a session whose first prompt the person will type."""
    if overview.status == "ended":
        raise Conflict(f"Session {overview.id} ({one_line(overview.title)}) has ended: it takes no prompt any more.")
    if prepared.sources is not None:
        await client.configure(overview.id, prepared.sources)


def _print_remarks(settings: Settings, turn_config: TurnConfig, request: RunArguments) -> None:
    for remark in config_remarks.find_config_remarks(settings, turn_config):
        print_note(remark)
    if request.model is not None and turn_config.model_is_managed:
        print_note(
            f"Warning: -m {escape_exact(request.model)} has no effect: the managed configuration sets the model."
        )
