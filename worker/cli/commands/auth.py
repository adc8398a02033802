"""`holdfast auth`: keys of model providers, in a file that only its owner reads."""

import json
import sys

import click

from activities.model.keys import Keys
from activities.model.litellm_providers import LITELLM_PROVIDERS
from activities.model.providers import PROVIDERS, nearest_name
from worker import credential_handoff
from worker.cli.command_support import async_command, print_note
from worker.cli.render.escaping import escape_exact
from worker.settings import Settings
from workflows.domain.errors import NotFound, UsageError


@click.group()
def auth() -> None:
    """Keep the keys of model providers.

    The worker reads them; no tool, log or history gets to see one. A key that is set in the shell of a run, as in
    ANTHROPIC_API_KEY, is handed over by itself, for as long as the stack runs.

    \b
    Examples:
      holdfast auth login anthropic
      pass show openai | holdfast auth login openai
      holdfast auth list
    """


@auth.command()
@click.argument("provider")
@async_command
async def login(settings: Settings, provider: str) -> None:
    """Store a provider's key, from a hidden prompt or standard input.

    \b
    Example:
      holdfast auth login anthropic
    """
    if provider not in LITELLM_PROVIDERS | PROVIDERS.keys():
        near = nearest_name(provider)
        meant = f" Did you mean {near!r}?" if near else ""
        print_note(
            f"No provider {escape_exact(provider)!r} is known by name: the key is for one that you configure.{meant}"
        )
    asked = sys.stdin.isatty()
    key = click.prompt(f"Key of {escape_exact(provider)}", hide_input=True, err=True) if asked else sys.stdin.readline()
    if not key.strip():
        raise UsageError("The key is empty: nothing was stored.")
    Keys(settings.auth).set(provider, key.strip())
    click.echo(f"Stored for {escape_exact(provider)}, in {escape_exact(str(settings.auth))}.")


@auth.command("list", short_help="List the providers that have a key.")
@click.option("--json", "as_json", is_flag=True, help="As a JSON object: providers, and variables.")
@async_command
async def list_(settings: Settings, as_json: bool) -> None:
    """List the providers that have a key, and the variables that were handed over.

    \b
    Example:
      holdfast auth list
    """
    stored, given = Keys(settings.auth).list(), credential_handoff.handed_off_names(settings)
    if as_json:
        click.echo(json.dumps({"stored": list(stored), "handed_over": list(given)}, indent=2))
        return
    for provider in stored:
        click.echo(f"{escape_exact(provider)}  stored")
    for variable in given:
        click.echo(f"{escape_exact(variable)}  handed over by a shell, until `holdfast down`")
    if not stored and not given:
        print_note("No key is stored, and no shell has handed one over: `holdfast auth login PROVIDER` stores one.")


@auth.command()
@click.argument("provider")
@async_command
async def logout(settings: Settings, provider: str) -> None:
    """Forget a provider's key.

    \b
    Example:
      holdfast auth logout anthropic
    """
    if not Keys(settings.auth).remove(provider):
        raise NotFound(f"There is no key for {provider!r}. `holdfast auth list` lists those there are.")
    click.echo(f"Forgotten: {escape_exact(provider)}")
