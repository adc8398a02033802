"""`holdfast models`: what `-m` takes."""

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import click

from activities.model.catalogue import Choice
from activities.model.providers import must_be_known
from worker.cli import choices, complete, door
from worker.cli.current import current_directory
from worker.cli.look.page import columns
from worker.cli.look.table import table
from worker.cli.look.text import exact, line, prose
from worker.settings import Settings
from worker.survey import model_of, survey
from workflows.domain.config.config import Config
from workflows.domain.config.snapshot import ProjectSnapshot
from workflows.domain.errors import UsageError
from workflows.domain.usage import Price

_UNKNOWN = "?"
_HEADINGS = ("context", "output", "$ in", "$ out")
_EXPLAINED = "Context and output are tokens, prices US dollars for a million tokens; ? is not known."


@click.command()
@click.argument("provider", required=False, shell_complete=complete.provider)
@click.option("--all", "every", is_flag=True, help="Those of providers without a key here, too.")
@click.option("--json", "as_json", is_flag=True, help="As a JSON array.")
@door.command
async def models(settings: Settings, provider: str | None, every: bool, as_json: bool) -> None:
    """List the models that can be chosen here.

    As -m takes them: those that your configuration describes, and those of providers that have a key here, with limits
    and prices as a turn would use them; with PROVIDER those of one, whether there is a key for it or not. In a pipe
    there is one name on each line. A name that is missing may be chosen all the same: the list is the one that litellm
    came with.

    \b
    Examples:
      holdfast models
      holdfast models anthropic
      holdfast models --all | grep codex
    """
    snapshot = await survey(settings, current_directory())
    config = snapshot.config
    if provider is not None:
        must_be_known(provider, config.provider)
    ids = [provider] if provider is not None else choices.providers(settings, config, every=every)
    found = choices.models(config, ids, door.say)
    if as_json:
        click.echo(json.dumps([_json(each) for each in found], indent=2))
        return
    for row in _rows(found, columns()):
        click.echo(row)
    _remark(snapshot, ids, found)


def _rows(found: Sequence[Choice], room: int | None) -> list[str]:
    """One name on each line; on a terminal with what is known of it."""
    if room is None or not found:
        return [exact(each.model) for each in found]
    cells = [_cells(each) for each in found]
    widths = [max(map(len, column)) for column in zip(_HEADINGS, *cells, strict=True)]
    aligned = [
        "  ".join(cell.rjust(most) for cell, most in zip(row, widths, strict=True)) for row in (_HEADINGS, *cells)
    ]
    names = ["model", *(exact(each.model) for each in found)]
    heading, *rows = table(zip(names, aligned, strict=True), room)
    return [click.style(heading, dim=True), *rows]


def _cells(choice: Choice) -> tuple[str, str, str, str]:
    facts, price = choice.facts, choice.facts.price
    rates = (_dollars(price.input), _dollars(price.output)) if price else (_UNKNOWN, _UNKNOWN)
    return (_tokens(facts.context), _tokens(facts.max_output), *rates)


def _tokens(limit: int) -> str:
    return f"{limit:,}" if limit else _UNKNOWN


def _dollars(rate: Decimal) -> str:
    """At least two decimals, and no more than four."""
    whole, _, decimals = f"{rate:.4f}".partition(".")
    return f"{whole}.{decimals.rstrip('0').ljust(2, '0')}"


def _json(choice: Choice) -> dict[str, Any]:
    facts = choice.facts
    return {
        "model": choice.model,
        "name": choice.name,
        "configured": choice.configured,
        "context": facts.context or None,
        "output": facts.max_output or None,
        "price": _price(facts.price),
    }


def _price(price: Price | None) -> dict[str, float] | None:
    """In US dollars for a million tokens, by the names of the configuration."""
    if price is None:
        return None
    rates = {"input": price.input, "output": price.output, "cache_read": price.cache_read}
    rates["cache_write"] = price.cache_write
    return {name: float(rate) for name, rate in rates.items() if rate is not None}


def _without_models(config: Config, ids: Sequence[str], found: Sequence[Choice]) -> list[str]:
    """Providers of which nothing is listed: the one that was named, and those with an address of one's own."""
    listed = {each.model.partition("/")[0] for each in found}
    own = {id for id, each in config.provider.items() if each.options.base_url}
    return [exact(id) for id in ids if id not in listed and (id in own or len(ids) == 1)]


def _remark(snapshot: ProjectSnapshot, ids: Sequence[str], found: Sequence[Choice]) -> None:
    """What the list does not say, on standard error."""
    if not ids:
        door.say(
            "No provider is configured, and none has a key here: set a variable such as ANTHROPIC_API_KEY, or run "
            "`holdfast auth login PROVIDER`. `holdfast models --all` lists those of all providers."
        )
    if bare := _without_models(snapshot.config, ids, found):
        door.say(f"No model of {line(', '.join(bare))} is listed: name one that is served there, as -m {bare[0]}/NAME.")
    if found and columns() is not None:
        door.say(_EXPLAINED)
    try:
        if (chosen := model_of(snapshot, None)) is not None:
            door.say(f"Without -m, `holdfast run` takes {exact(chosen)} here.")
    except UsageError as error:
        door.say(f"Warning: the configured model cannot be asked: {prose(str(error))}")
