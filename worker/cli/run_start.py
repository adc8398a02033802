"""The session that `holdfast run` follows: a new one, or one to go on in."""

import sys
from typing import Any

from activities.shell.environment import session_environment
from worker.cli import id_lookup, model_dialog
from worker.cli.command_support import current_directory, print_note, print_remarks
from worker.cli.render import suspension_text
from worker.cli.render.escaping import escape_exact, one_line
from worker.cli.terminal_input import is_interactive
from worker.command_prompts import expand_command
from worker.project_config import sources_of
from worker.session_client import SessionClient
from worker.settings import Settings
from worker.turn_preparation import Preparation, joined_turn_remarks, prepare_first_turn, prepare_next_turn
from workflows.domain.budgets import ChosenLimits
from workflows.domain.config.sources import ConfigSources
from workflows.domain.errors import Conflict, MisspeltModel, UnchosenModel
from workflows.domain.ids import MessageId, SessionId, TurnConfigId, TurnId, session_id_for
from workflows.domain.messages import FilePart
from workflows.domain.output_format import OutputFormat
from workflows.domain.prompt import Prompt
from workflows.domain.value import Value
from workflows.domain.views.accepted import AcceptedPrompt
from workflows.domain.views.sessions import Overview


class RunArguments(Value):
    """`command`: the slash command whose arguments the text is; `made`: the prompt that it has become. `piped_at` as
    in `PromptContent`."""

    text: str
    piped_at: tuple[tuple[int, int], ...] | None = None
    command: str | None = None
    made: Prompt | None = None
    files: tuple[FilePart, ...] = ()
    subtask: str | None = None
    system: str | None = None
    model: str | None
    any_model: bool = False
    variant: str | None
    agent: str | None
    ask: tuple[str, ...] = ()
    title: str | None
    session: str | None = None
    config: str | None = None
    format: OutputFormat | None = None
    prompt: MessageId | None = None
    limits: ChosenLimits = ChosenLimits()
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

    def first_message(self, prepared: Preparation) -> Prompt:
        """A new session's: what was chosen where nothing names a model is its model."""
        message = self.message
        return message.model_copy(update={"model": message.model or prepared.default_model})

    async def expand(self, settings: Settings, prepared: Preparation, model: str | None = None) -> "RunArguments":
        """The same with the prompt that its command, if any, becomes; `model`: the session's. Raises UsageError."""
        if self.command is None or self.made is not None:
            return self
        turn_config, given, sources = prepared.require_config(), self._given, prepared.sources
        made = await expand_command(
            settings, turn_config, self.command, self.text, given, sources, session_model=model, warn=print_remarks
        )
        return self.model_copy(update={"made": made})


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


async def prepare(
    settings: Settings, request: RunArguments, trust: str | None = None
) -> tuple[RunArguments, Preparation]:
    """Prepare a new session early, with a person's answers; the turn reads the files again. `trust`: the digest of what
    is accepted first. Raises UsageError for what is known to fail."""
    prepared = await prepare_again(settings, request)
    if prepared.turn_config is not None and (trust is not None or prepared.waits_for_trust):
        from worker.cli import trust_dialog  # few projects need it

        await trust_dialog.decide_at_start(settings, current_directory(), trust)
        prepared = await prepare_again(settings, request)
    print_remarks(*prepared.config_remarks, *prepared.remarks)
    match prepared.refusal:
        case UnchosenModel(models=models) if models and is_interactive():
            answered = await prepare_again(settings, request, model_dialog.choose_default(settings, models))
        case MisspeltModel() as misspelt if is_interactive():
            request = request.model_copy(update={"model": model_dialog.confirm_spelling(misspelt)})
            answered = await prepare_again(settings, request)
        case _:
            answered = prepared
    print_remarks(*(each for each in answered.remarks if each not in prepared.remarks))
    answered.require_config()
    return request, answered


async def prepare_again(settings: Settings, request: RunArguments, default_model: str | None = None) -> Preparation:
    """Without questions. `default_model`: the answer to one."""
    sources, any_model = request.sources(settings), request.any_model
    return await prepare_first_turn(
        settings, current_directory(), request.typed, sources, request.limits, any_model, default_model
    )


async def create_session(client: SessionClient, request: RunArguments, prepared: Preparation) -> SessionId:
    """One that waits for its first prompt."""
    return await client.create(first=request.first_message(prepared), **_of_shell(client, request, prepared))


async def start_session(client: SessionClient, request: RunArguments, prepared: Preparation) -> StartedRun:
    directory, turn_config = current_directory(), prepared.require_config()
    request = await request.expand(client.settings, prepared)
    accepted = await client.start(
        message=request.first_message(prepared),
        **_of_shell(client, request, prepared),
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
        configuration=prepared.configuration(request.message),
        warnings=turn_config.warnings,
        accepted=accepted,
    )


def _of_shell(client: SessionClient, request: RunArguments, prepared: Preparation) -> dict[str, Any]:
    """What a new session takes from where it is started."""
    directory = current_directory()
    if client.settings.holds_user_home(directory):
        print_note(
            f"The agent works in {escape_exact(str(directory))}, which holds your whole home: "
            "a project's directory is safer."
        )
    return {
        "directory": str(directory),
        "title": request.title,
        "environment": session_environment(client.settings.environment),
        "sources": prepared.sources,
        "turn_config": prepared.require_config(),
    }


async def continue_session(client: SessionClient, request: RunArguments) -> StartedRun:
    """Raises UsageError, NotFound; Conflict if the session has ended."""
    overview = await client.sessions.get(await id_lookup.find_session(client, request.session or "last"))
    prepared = await prepare_next_turn(
        client, overview, request.typed, ask=request.ask, config=request.config, limits=request.limits
    )
    print_remarks(*prepared.config_remarks, *prepared.remarks)
    request = await request.expand(client.settings, prepared, overview.model)
    typed = bool(request.text or request.made)
    await prepared.hand_over_credentials()
    accepted = await (_send_prompt if typed else _open_without_prompt)(client, request, overview, prepared)
    print_remarks(*prepared.late_remarks)
    suspension_text.print_suspension(overview)
    return StartedRun(
        session=overview.id,
        name=f"Session {overview.id}" if typed else f"{one_line(overview.title)} · session {overview.id}",
        directory=overview.directory,
        current_agent=overview.agent,
        seq=0 if request.prompt else overview.seq,  # a prompt with an id may be an old one: its events come first
        configuration=prepared.configuration(request.message),
        warnings=prepared.warnings,
        accepted=accepted,
        turn=overview.turn if not typed and overview.turn_state == "open" else None,
    )


async def _send_prompt(
    client: SessionClient, request: RunArguments, overview: Overview, prepared: Preparation
) -> AcceptedPrompt:
    accepted = await client.prompt(
        overview.id,
        request.message,
        prompt=request.prompt,
        sources=prepared.sources,
        turn_config=prepared.turn_config,
        limits=request.limits.session,
    )
    print_remarks(*joined_turn_remarks(overview, request.message))
    return accepted


async def _open_without_prompt(
    client: SessionClient, _: RunArguments, overview: Overview, prepared: Preparation
) -> None:
    """Open a session whose first prompt the person will type."""
    if overview.status == "ended":
        raise Conflict(f"Session {overview.id} ({one_line(overview.title)}) has ended: it takes no prompt any more.")
    if prepared.sources is not None:
        await client.configure(overview.id, prepared.sources)
