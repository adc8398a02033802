"""`holdfast auth`: keys of model providers, kept in a file that only its owner can read."""

import json
import sys

import click

from activities.model.keys import Keys
from activities.model.litellm_providers import NAMES
from activities.model.providers import PROVIDERS, nearest
from worker import handover
from worker.cli import door
from worker.cli.look.text import exact
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
@door.command
async def login(settings: Settings, provider: str) -> None:
    """Store a provider's key, from a hidden prompt or standard input.

    \b
    Example:
      holdfast auth login anthropic
    """
    if provider not in NAMES | PROVIDERS.keys():
        near = nearest(provider)
        meant = f" Did you mean {near!r}?" if near else ""
        door.say(f"No provider {exact(provider)!r} is known by name: the key is for one that you configure.{meant}")
    asked = sys.stdin.isatty()
    key = click.prompt(f"Key of {exact(provider)}", hide_input=True, err=True) if asked else sys.stdin.readline()
    if not key.strip():
        raise UsageError("The key is empty: nothing was stored.")
    Keys(settings.auth).set(provider, key.strip())
    click.echo(f"Stored for {exact(provider)}, in {exact(str(settings.auth))}.")


@auth.command("list", short_help="List the providers that have a key.")
@click.option("--json", "as_json", is_flag=True, help="As a JSON object: providers, and variables.")
@door.command
async def list_(settings: Settings, as_json: bool) -> None:
    """List the providers that have a key, and the variables that were handed over.

    \b
    Example:
      holdfast auth list
    """
    stored, given = Keys(settings.auth).list(), handover.handed_over(settings)
    if as_json:
        click.echo(json.dumps({"stored": list(stored), "handed_over": list(given)}, indent=2))
        return
    for provider in stored:
        click.echo(f"{exact(provider)}  stored")
    for variable in given:
        click.echo(f"{exact(variable)}  handed over by a shell, until `holdfast down`")
    if not stored and not given:
        door.say("No key is stored, and no shell has handed one over: `holdfast auth login PROVIDER` stores one.")


@auth.command()
@click.argument("provider")
@door.command
async def logout(settings: Settings, provider: str) -> None:
    """Forget a provider's key.

    \b
    Example:
      holdfast auth logout anthropic
    """
    if not Keys(settings.auth).remove(provider):
        raise NotFound(f"There is no key for {provider!r}. `holdfast auth list` lists those there are.")
    click.echo(f"Forgotten: {exact(provider)}")
