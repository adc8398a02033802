"""The checks of `holdfast doctor`."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from activities.model.providers import check_model, provider_named
from activities.project.config_references import resolve
from worker import config_remarks, model_choices
from worker.cli.command_support import current_directory, print_note, print_remarks
from worker.cli.render.escaping import escape_exact, one_line
from worker.cli.render.formatting import format_price, format_tokens, pluralize
from worker.credential_handoff import CredentialEnvironment
from worker.project_config import load_project_config
from worker.settings import Settings
from worker.stack import doctor
from worker.stack.diagnosis import CheckResult, Level
from workflows.domain.config.config import Config
from workflows.domain.config.provider_settings import Provider
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import HoldfastError
from workflows.domain.usage import Cost, decimal_text

if TYPE_CHECKING:  # start-up time: model clients take seconds to load
    from worker.probe import ProbeResult

_CHECK = "model key"


async def run_checks(settings: Settings) -> list[CheckResult]:
    """Check the stack, then the key of this directory's model.

    Raises UsageError if the directory was deleted.
    """
    directory = current_directory()
    here = [each for each in await doctor.run_checks(settings) if each.check != _CHECK]
    try:
        turn_config = await load_project_config(settings, directory)
        remarks = [*config_remarks.find_config_remarks(settings, turn_config), *_files_of_claude_code(turn_config)]
    except HoldfastError as error:
        remedy = "Correct it there, then try again: no task begins in this directory until then."
        return [*here, CheckResult(check="configuration", level=Level.FAILURE, message=str(error), remedy=remedy)]
    read = CheckResult(
        check="configuration", level=Level.OK, message="the files of this directory and yours can be used"
    )
    warnings = (CheckResult(check="configuration", level=Level.WARNING, message=remark) for remark in remarks)
    return [*here, read, *warnings, await _check_model_key(settings, turn_config)]


def _files_of_claude_code(turn_config: TurnConfig) -> Iterator[str]:
    """Claude Code's files, which OpenCode does not read either: only people who come from there look for them."""
    root, home = Path(turn_config.worktree or turn_config.directory), Path(turn_config.home or "~").expanduser()
    for commands in (root / ".claude" / "commands", home / ".claude" / "commands"):
        if files := sorted(commands.rglob("*.md")):
            shown = [one_line(str(each.relative_to(commands))) for each in files[:5]]
            names = ", ".join(shown) + (" …" if len(files) > 5 else "")
            yield (
                f"Not read: {pluralize(len(files), 'file')} of Claude Code's in {escape_exact(str(commands))}: "
                f"{names}. To use one, copy it to .opencode/commands; its `allowed-tools` has no effect."
            )
    for settings in sorted((root / ".claude").glob("settings*.json")):
        yield (
            f"Not read: {escape_exact(str(settings))}: its permissions and hooks, which are Claude Code's, have no "
            "effect. Write rules as `permission` in opencode.json."
        )


async def check_model_answer(settings: Settings, named: str | None) -> CheckResult:
    """Make one request to the named model, or to this directory's.

    Raises UsageError if no model is chosen, or no request is possible.
    """
    from worker.probe import probe  # start-up time: model clients take seconds to load

    turn_config = await load_project_config(settings, current_directory())
    model = await resolve(model_choices.choose_model(settings, turn_config, named), CredentialEnvironment(settings))
    check_model(model, turn_config.config)
    print_remarks(*model_choices.model_name_remarks(settings, turn_config.config, model))
    print_note(f"Asking {escape_exact(model)} for a word.")
    probed = await probe(settings, model, turn_config.config)
    level = Level.OK if probed.answered else Level.FAILURE
    return CheckResult(check="model", level=level, message=_measured(probed), remedy=probed.remedy)


def _measured(probed: "ProbeResult") -> str:
    """The answer, how long it took, and what it cost."""
    taken = f"after {probed.seconds:.1f} s" if probed.seconds is not None else ""
    if not probed.answered and not probed.tokens.reported and probed.cost is None:
        return " · ".join(filter(None, (probed.message, taken)))
    tokens = format_tokens(probed.tokens.context + probed.tokens.reasoning, steps=1)
    price = format_price(Cost.of(None if probed.cost is None else decimal_text(probed.cost)))
    return " · ".join(filter(None, (probed.message, taken, tokens, price)))


async def _check_model_key(settings: Settings, turn_config: TurnConfig) -> CheckResult:
    try:
        model = await resolve(model_choices.choose_model(settings, turn_config, None), CredentialEnvironment(settings))
        check_model(model, turn_config.config)
        print_remarks(*model_choices.unknown_model_remarks(settings, turn_config.config, model))
        return await _find_key(settings, model, turn_config.config)
    except (HoldfastError, OSError) as error:  # the latter: the home, where keys are, cannot be used
        named = turn_config.agent.model or turn_config.config.model  # without one, `-m` may name it
        return CheckResult(check=_CHECK, level=Level.FAILURE if named else Level.WARNING, message=str(error))


async def _find_key(settings: Settings, model: str, config: Config) -> CheckResult:
    provider = provider_named(model.partition("/")[0])
    if await model_choices.find_provider_key(settings, config, provider.id) is not None:
        return CheckResult(check=_CHECK, level=Level.OK, message=f"there is one for {model}; `doctor --model` tries it")
    if (written := (config.provider.get(provider.id) or Provider()).options.api_key) is not None:
        message = f"that of {model} is empty: provider.{provider.id}.options.apiKey is {written!r}"
        return CheckResult(check=_CHECK, level=Level.FAILURE, message=message, remedy="Set it, or take the field away.")
    if not model_choices.needs_key(config, provider.id):
        return CheckResult(check=_CHECK, level=Level.OK, message=f"{model} needs none")
    return CheckResult(
        check=_CHECK,
        level=Level.FAILURE,
        message=f"there is none for {model}",
        remedy=f"Set {provider.variables[0]}, or run `holdfast auth login {provider.id}`.",
    )
