"""`holdfast auth`: keys of model providers, in a file that only its owner reads."""

import sys
from datetime import date
from typing import Final, NamedTuple

import click

from activities.credentials.keys import Keys
from activities.model.default_model import main_model
from activities.model.key_forms import check_key, check_provider_id, key_page, sign_in_note
from activities.model.model_table import ModelTables
from activities.model.other_programs_keys import (
    CLAUDE_CODE,
    OPENCODE,
    PROGRAMS,
    ForeignKey,
    check_has_keys,
    find_foreign_keys,
)
from activities.model.providers import PROVIDERS, nearest_name, provider_named
from activities.model.wires.litellm.litellm_names import LITELLM_PROVIDERS
from worker import credential_handoff
from worker.cli import completers
from worker.cli.command_output import CommandOutput, with_json
from worker.cli.command_support import async_command, current_directory, person_command, print_note
from worker.cli.render.escaping import escape_exact, escape_prose
from worker.cli.terminal_input import is_interactive
from worker.project_config import default_models, effective_model, load_project_config
from worker.settings import Settings
from workflows.domain.config.config import EXA, Config
from workflows.domain.config.provider_settings import Provider
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import NotFound, UsageError

_TIMEOUT: Final = 20.0  # seconds; a key can be stored untried


@click.group()
def auth() -> None:
    """Manage the keys of model providers.

    The worker reads them; no tool, log or history gets to see one. A key that is set in the shell of a run, as in
    ANTHROPIC_API_KEY, is handed over by itself, for as long as the stack runs. `auth list` names keys of OpenCode and
    Claude Code, too; they are copied only where you ask for it.

    \b
    Examples:
      holdfast auth login anthropic
      pass show openai | holdfast auth login openai
      holdfast auth list
    """


_OFFERED: Final = ("anthropic", "openai", "google", "openrouter", "xai", "mistral", "deepseek", "groq")


@auth.command()
@click.argument("provider", required=False, shell_complete=completers.known_provider)
@click.option("--name", help="A name for one of several keys; `provider.<id>.options.keyName` chooses it.")
@click.option(
    "--from", "program", type=click.Choice([OPENCODE, CLAUDE_CODE]), help="Copy the key that this program has stored."
)
@click.option("--no-check", is_flag=True, help="Store the key without trying it.")
@person_command
async def login(
    settings: Settings, provider: str | None, name: str | None, program: str | None, no_check: bool
) -> None:
    """Store a provider's key, from a hidden prompt or standard input.

    Without PROVIDER you are asked which one. The key is tried first, with one request for a word: one that the provider
    refuses is not stored.

    \b
    Examples:
      holdfast auth login
      holdfast auth login anthropic
      holdfast auth login anthropic --name work
      holdfast auth login openai --from opencode
    """
    provider = _choose_provider() if provider is None else provider
    check_provider_id(provider)
    check_has_keys(provider)
    if provider not in LITELLM_PROVIDERS | PROVIDERS.keys() | {EXA}:
        near = nearest_name(provider)
        meant = f" Did you mean {near!r}?" if near else ""
        print_note(
            f"No provider {escape_exact(provider)!r} is known by name: the key is for one that you configure.{meant}"
        )
    key, remark = check_key(provider, _foreign_key(settings, provider, program) if program else _ask(provider))
    if remark:
        print_note(escape_exact(remark))
    if not no_check and provider != EXA:
        await _check_accepted(settings, provider, key)
    Keys(settings.auth).set(provider, key, name)
    click.echo(f"Stored for {_label(provider, name)}, in {escape_exact(str(settings.auth))}.")
    click.echo(f"Now: {escape_exact(await next_step(settings, provider, name))}")


def _choose_provider() -> str:
    """Raises UsageError without a terminal."""
    if not is_interactive():
        raise UsageError("Say whose key it is, as in `holdfast auth login anthropic`: there is no terminal to ask on.")
    for number, id in enumerate(_OFFERED, start=1):
        click.echo(f"  {number}  {id}", err=True)
    answer: str = click.prompt("Which provider (a number, or another one's name)", err=True).strip()
    chosen = int(answer) if answer.isdecimal() else 0
    return _OFFERED[chosen - 1] if 0 < chosen <= len(_OFFERED) else answer


async def _check_accepted(settings: Settings, provider: str, key: str) -> None:
    """Raises UsageError for a key that the provider refuses, unless the person wants it."""
    tried = await try_key(settings, provider, key)
    print_note(tried.text)
    if not tried.refused or (is_interactive() and click.confirm("Store it all the same?", err=True)):
        return
    raise UsageError("Nothing was stored. --no-check stores a key without trying it.")


def _ask(provider: str) -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline()
    page = f"Keys are made at {address}." if (address := key_page(provider)) else None
    for note in (sign_in_note(provider, needs_key=provider_named(provider).needs_key), page):
        if note:
            print_note(escape_exact(note))
    key: str = click.prompt(f"Key of {escape_exact(provider)}", hide_input=True, err=True)
    return key


def _foreign_key(settings: Settings, provider: str, program: str) -> str:
    """Raises NotFound, and UsageError for a sign-in."""
    found = [each for each in find_foreign_keys(settings.environment) if each.provider == provider]
    ours = sorted((each for each in found if each.program == program), key=lambda each: each.key is None)
    if not ours:
        raise NotFound(f"{PROGRAMS[program]} has no key for {provider!r} here.")
    if ours[0].key is None:
        raise UsageError(f"{PROGRAMS[program]} has {ours[0].kind} for {provider!r}, and no key: {ours[0].reason}.")
    return ours[0].key.get_secret_value()


@auth.command("list", short_help="List the providers that have a key.")
@async_command
@with_json("As a JSON object: providers, variables, other programs.")
async def list_(settings: Settings) -> CommandOutput:
    """List the providers that have a key, the variables that hold one, and what other programs have.

    \b
    Example:
      holdfast auth list
    """
    keys, given = Keys(settings.auth), credential_handoff.handed_off_names(settings)
    variables = sorted({each for known in PROVIDERS.values() for each in known.variables if each.endswith("_KEY")})
    here = [name for name in variables if settings.environment.get(name) and name not in given]
    stored, foreign = keys.entries(), find_foreign_keys(settings.environment)
    elsewhere = [
        {
            "provider": each.provider,
            "program": each.program,
            "key": bool(each.key),
            "kind": "a key" if each.key else each.kind,
        }
        for each in foreign
    ]
    named = {id: [name for provider, name in stored if provider == id and name] for id in keys.list()}
    content = {"stored": keys.list(), "named": named, "handed_over": given, "here": here, "elsewhere": elsewhere}
    rows = (
        *(f"{_label(provider, name)}  stored" for provider, name in stored),
        *(f"{escape_exact(each)}  handed over by a shell, until `holdfast down`" for each in given),
        *(f"{escape_exact(each)}  set in this shell, and handed over by each `holdfast run`" for each in here),
        *(_describe_foreign(each, stored=(each.provider, None) in stored) for each in foreign),
    )
    none = "No key is stored, and no shell has handed one over: `holdfast auth login` stores one."
    return CommandOutput(content, lambda: rows, remarks=[] if stored or given or here else [none])


def _describe_foreign(found: ForeignKey, *, stored: bool) -> str:
    provider, program = escape_exact(found.provider), PROGRAMS[found.program]
    if found.key is None:
        return f"{provider}  {found.kind} of {program}, not used: {escape_exact(found.reason)}"
    if stored:
        return f"{provider}  also in {program}"
    return f"{provider}  in {program}, not used: `holdfast auth login {provider} --from {found.program}` copies it"


@auth.command()
@click.argument("provider", shell_complete=completers.stored_provider)
@click.option("--name", shell_complete=completers.key_name, help="The name of one of several keys.")
@person_command
async def logout(settings: Settings, provider: str, name: str | None) -> None:
    """Forget a provider's key.

    \b
    Example:
      holdfast auth logout anthropic
    """
    if not Keys(settings.auth).remove(provider, name):
        wanted = f"{name!r} for {provider!r}" if name else f"for {provider!r}"
        raise NotFound(f"There is no key {wanted}. `holdfast auth list` lists those there are.")
    click.echo(f"Forgotten: {_label(provider, name)}")


def _label(provider: str, name: str | None) -> str:
    return escape_exact(f"{provider} ({name})" if name else provider)


class TriedKey(NamedTuple):
    """`refused`: by the provider. `text`: the outcome, for people."""

    refused: bool
    text: str


async def try_key(settings: Settings, provider: str, key: str) -> TriedKey:
    """Ask the provider's main model for a word with this key."""
    from worker.probe import probe  # start-up time: model clients take seconds to load

    config = await _config(settings)
    model = _main_model(settings, config, provider)
    if model is None:
        known = f"no main model of {provider} is known. `holdfast doctor --model {provider}/NAME` tries it"
        return TriedKey(refused=False, text=f"Not tried: {known}.")
    print_note(f"Trying it with {escape_exact(model)}.")
    own = config.provider.get(provider) or Provider()
    keyed = own.model_copy(update={"options": own.options.model_copy(update={"api_key": key, "key_name": None})})
    trial = config.model_copy(update={"provider": {**config.provider, provider: keyed}})
    probed = await probe(settings, model, trial, _TIMEOUT)
    message = escape_prose(probed.message.replace(key, "…"))
    if probed.answered:
        return TriedKey(refused=False, text=f"It works: {message}.")
    return TriedKey(refused=probed.refused, text=message if probed.refused else f"It could not be tried: {message}")


async def next_step(settings: Settings, provider: str, name: str | None) -> str:
    """What to type with a key that is stored."""
    if provider == EXA:
        return 'write holdfast.web.search: "exa" into your own opencode.json, to have it used'
    if name is not None:
        return f"write provider.{provider}.options.keyName: {name!r} into opencode.json, to have it used"
    turn_config = await _turn_config(settings)
    config = turn_config.config if turn_config is not None else Config()
    if _names_model(turn_config) or len(default_models(settings).candidates(config)) == 1:
        return "holdfast"
    model = _main_model(settings, config, provider)
    return f"holdfast run -m {model}" if model is not None else f"holdfast models {provider}"


def _main_model(settings: Settings, config: Config, provider: str) -> str | None:
    return main_model(provider, config, ModelTables(settings.models_file).all(), date.today())


def _names_model(turn_config: TurnConfig | None) -> bool:
    try:
        return turn_config is not None and effective_model(turn_config, None) is not None
    except UsageError:
        return False


async def _config(settings: Settings) -> Config:
    turn_config = await _turn_config(settings)
    return turn_config.config if turn_config is not None else Config()


async def _turn_config(settings: Settings) -> TurnConfig | None:
    """A configuration that cannot be read keeps no key out."""
    try:
        return await load_project_config(settings, current_directory())
    except UsageError:
        return None
