"""Before commands send to a session: read its configuration, hand over this shell's keys, say what goes unseen."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import click

from activities.files.file_type import PDF, media_type
from activities.files.named_files import find_named_files
from activities.model import catalogue
from activities.model.model_table import ModelTables
from activities.project.worktree import find_workspace
from activities.web.remote_copies import TO_BE_FETCHED
from worker import credential_handoff
from worker.cli import completers, config_remarks, model_choices
from worker.cli.budget_options import ChosenLimits, check_priced
from worker.cli.command_support import C, options, print_note
from worker.cli.render.escaping import escape_exact
from worker.project_config import Role, load_project_config, sources_of
from worker.session_client import SessionClient
from worker.settings import Settings
from workflows.domain.config.sources import ConfigSources
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import ConfigError, UsageError
from workflows.domain.ids import TurnConfigId
from workflows.domain.prompt import Prompt
from workflows.domain.value import Value
from workflows.domain.views.sessions import Overview

_NO_CHANGE: Final = "The session looks for its configuration where this shell does already."


def _only_one(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> str | None:
    """Click would take the last one, and drop the others without a word."""
    if len(given) > 1:
        raise click.BadParameter("the words are one task, for one subagent: give it once.")
    return next(iter(given), None)


config_option: Final = click.option(
    "--config",
    type=click.Choice(["here"]),
    help="From the next turn on, look for the session's configuration where this shell does.",
)


def prompt_options(again: str) -> Callable[[C], C]:
    """How a prompt is given; `again`: what one with the same id is."""
    return options(
        config_option,
        click.option(
            "--command",
            metavar="NAME",
            shell_complete=completers.command,
            help="Run this slash command; the words are its arguments. `holdfast commands` lists them.",
        ),
        click.option(
            "--subtask",
            metavar="AGENT",
            multiple=True,
            callback=_only_one,
            help="The prompt is a task for this subagent: it begins at once, without a question and without asking a "
            "model.",
        ),
        click.option(
            "-f",
            "--file",
            "files",
            metavar="PATH",
            multiple=True,
            type=click.Path(),
            help="A file or directory that the agent reads first, as with @PATH in the prompt; may be repeated.",
        ),
        click.option(
            "--system",
            metavar="TEXT|@FILE",
            help="Instructions for this prompt's turn alone, besides AGENTS.md: as text, or @ and a file that holds "
            "them.",
        ),
        click.option("--edit", is_flag=True, help="Write the prompt in your editor."),
        click.option(
            "--id",
            "identity",
            metavar="MSG",
            help=f"An id of your own: the same command again is {again}.",
        ),
    )


def model_option(summary: str) -> Callable[[C], C]:
    return click.option(
        "-m",
        "--model",
        metavar="PROVIDER/MODEL",
        shell_complete=completers.model,
        help=f"{summary}; `holdfast models` lists them.",
    )


variant_option: Final = click.option(
    "--variant",
    metavar="NAME",
    shell_complete=completers.variant,
    help="A variant of the model, such as how much it thinks; `holdfast models --verbose` lists them.",
)


class PreparedSession(Value):
    """The configuration of the session's next turn; empty if its files are on another host.

    `sources` are recorded with what is sent: a refusal changes nothing. `changed`: the variables that differ in them.
    """

    turn_config: TurnConfig | None = None
    sources: ConfigSources | None = None
    changed: tuple[str, ...] = ()

    @property
    def configuration(self) -> TurnConfigId | None:
        return known_id(self.turn_config) if self.turn_config is not None else None

    @property
    def warnings(self) -> tuple[str, ...]:
        return self.turn_config.warnings if self.turn_config is not None else ()

    def report(self) -> None:
        if self.sources is None:
            return
        names = ", ".join(self.changed)
        print_note(f"From its next turn on the session uses this shell's {names}." if names else _NO_CHANGE)


async def prepare_session(
    client: SessionClient,
    overview: Overview,
    model: str | None,
    *,
    ask: tuple[str, ...] = (),
    variant: str | None = None,
    agent: str | None = None,
    config: str | None = None,
    limits: ChosenLimits | None = None,
    prompt: Prompt | None = None,
) -> PreparedSession:
    """Read the directory's configuration as the session's next turn will, and hand over this shell's keys.

    `model` and `agent` default to the session's. Raises UsageError: also for an agent that cannot work there, an
    unknown variant and, unless the prompt joins an open turn, a model that no worker can use.
    """
    if overview.host != client.settings.host:
        if config is not None:
            raise UsageError(f"The session's files are on host {overview.host!r}: use `--config here` there.")
        return PreparedSession()
    origin = await client.sessions.origin(overview.id)
    here = _new_sources(client.settings, origin.sources, config, ask)
    if config is None and origin.sources is not None:
        _warn_about_differences(client.settings, origin.sources)
    role = Role(agent or origin.agent, origin.rules, origin.ancestors)
    directory, sources = Path(overview.directory), here or origin.sources
    turn_config = await load_project_config(client.settings, directory, role, sources, database=client.database)
    needed = model is not None or variant is not None or overview.turn_state != "open"
    named = turn_config.named_model(model, origin.model, other_agent=role.agent != origin.began_as)
    chosen = origin.model
    if needed:
        chosen = config_remarks.choose_model(client.settings, turn_config, named, overview.model)
    if model is not None and chosen == model:
        config_remarks.warn_of_unknown_model(client.settings, turn_config, model)
    if variant is not None and chosen is not None:
        model_choices.check_variant(client.settings, turn_config.config, chosen, variant)
    if limits is not None and chosen is not None:
        check_priced(client.settings, turn_config.config, chosen, limits)
    warn_of_unseen_files(client.settings, turn_config, chosen, prompt)
    await credential_handoff.hand_off(
        client.settings, credential_handoff.credential_variables(turn_config.config, chosen)
    )
    changed = here.changed_from(origin.sources) if here is not None else ()
    return PreparedSession(turn_config=turn_config, sources=here, changed=changed)


def _new_sources(
    settings: Settings, known: ConfigSources | None, config: str | None, ask: tuple[str, ...]
) -> ConfigSources | None:
    """This shell's, or the session's own; with what more is asked about, never less. None: they stay as they are."""
    if config is None and not ask:
        return None
    found = sources_of(settings) if config is not None or known is None else known
    asked = dict.fromkeys((*(known.ask if known is not None else ()), *ask))
    return found.model_copy(update={"ask": tuple(asked)})


def known_id(turn_config: TurnConfig) -> TurnConfigId | None:
    """The configuration's id; None if the turn works with another one, because some of it is fetched first."""
    return None if any(TO_BE_FETCHED in each for each in turn_config.warnings) else turn_config.id


def report_joined_turn(overview: Overview, agent: str | None) -> None:
    """Report that a prompt for this agent joins a turn of another one."""
    if overview.turn_state == "open" and agent not in (None, overview.agent):
        print_note(
            f"Turn {overview.number} is at work as {escape_exact(overview.agent)}, and the prompt joins it. "
            f"{escape_exact(agent or '')} works in a turn that begins with a prompt: send it with --queue."
        )


def configuration_suffix(turn_config: TurnConfigId | None) -> str:
    """The configuration, to follow a session's name."""
    return f", configuration {turn_config}" if turn_config is not None else ""


def _warn_about_differences(settings: Settings, sources: ConfigSources) -> None:
    """Warn if this shell's sources differ: the session keeps its own."""
    try:
        differing = sources.differences(sources_of(settings).model_copy(update={"ask": sources.ask}))
    except ConfigError as error:
        print_note(f"The session keeps its own configuration; this shell's cannot be used: {error}")
        return
    if differing:
        names = ", ".join(differing)
        print_note(
            f"The session keeps the configuration it was started with; this shell has another {names}. "
            "To use this shell's: --config here"
        )


def warn_of_unseen_files(settings: Settings, turn_config: TurnConfig, model: str | None, prompt: Prompt | None) -> None:
    """Warn of pictures and PDF files that a step of the prompt would read and the model cannot see, as far as is
    known."""
    if model is None or prompt is None or not prompt.references:
        return
    with suppress(UsageError):  # the turn says why it cannot be asked
        facts = catalogue.facts_of(model, turn_config.config.provider, ModelTables(settings.models_file))
        for path in _named(prompt, turn_config):
            mime = media_type(b"", path)
            if mime is not None and not (facts.documents if mime == PDF else facts.images):
                kind = "read PDF files" if mime == PDF else "see pictures"
                name = escape_exact(path.name)
                print_note(
                    f"{escape_exact(model)} cannot {kind}, as far as is known: it learns only that {name} is there."
                )


def _named(prompt: Prompt, turn_config: TurnConfig) -> list[Path]:
    """The files that the prompt names, each once."""
    directory = Path(turn_config.directory)
    home = Path(turn_config.home or Path.home())
    workspace = find_workspace(directory, data=home, home=home, temporary=directory)
    found = find_named_files(prompt, workspace)
    return list(dict.fromkeys(Path(directory, str(each.arguments["filePath"])) for each in found))
