"""`holdfast models`: what `-m` takes."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import chain
from typing import Any

import click

from activities.model.catalogue import ModelChoice
from activities.model.default_model import NO_KEY
from activities.model.model_table import ModelTables
from activities.model.providers import check_provider
from worker import model_choices
from worker.cli import completers
from worker.cli.command_output import CommandOutput, with_json
from worker.cli.command_support import async_command, current_directory, print_note
from worker.cli.render.console import Row, terminal_columns
from worker.cli.render.escaping import escape_exact, escape_prose, one_line
from worker.cli.render.text_table import format_headed
from worker.project_config import default_models, effective_model, load_project_config
from worker.settings import Settings
from workflows.domain.config.allowed_models import check_allowed
from workflows.domain.config.config import Config
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import UsageError
from workflows.domain.usage import Price, Rates

_UNKNOWN = "?"
_MOST = 4  # providers that a note names
_KEY = "key"
_HEADINGS = ("context", "output", "$ in", "$ out")
_MORE_HEADINGS = ("$ cached", "$ caching", "above", "sees", "thinks", "variants")
_EXPLAINED = "Context and output are tokens, prices US dollars for a million tokens; ? is not known."
_MORE_EXPLAINED = (
    "Cached is a token read from the provider's cache, caching one written to it; a prompt of more tokens than above "
    "costs more. A variant is chosen by --variant."
)


@click.command()
@click.argument("provider", required=False, shell_complete=completers.provider)
@click.option("--all", "every", is_flag=True, help="Those of providers without a key here, too.")
@click.option(
    "--verbose", is_flag=True, help="Also the rates of caches and long prompts, what each sees, and its variants."
)
@click.option(
    "--refresh",
    "address",
    is_flag=False,
    flag_value="",
    metavar="[=ADDRESS]",
    help="Fetch a newer table first, from this address or that of HOLDFAST_MODELS_URL.",
)
@async_command
@with_json("As a JSON array.")
async def models(
    settings: Settings, provider: str | None, every: bool, verbose: bool, address: str | None
) -> CommandOutput:
    """List the models that can be chosen here.

    As -m takes them: those that your configuration describes, and those of providers that have a key here, with limits
    and prices as a turn would use them; with PROVIDER those of one, whether there is a key for it or not. In a pipe
    there is one name on each line. A name that is missing may be chosen all the same: the list is as old as this
    release, or as the table that --refresh fetched last.

    \b
    Examples:
      holdfast models
      holdfast models anthropic --verbose
      holdfast models --all | grep codex
      holdfast models --refresh=https://models.dev/api.json
    """
    if address is not None:
        await _refresh(settings, address)
    turn_config = await load_project_config(settings, current_directory())
    config = turn_config.config
    if provider is not None:
        _check_named(provider)
        check_allowed(config, provider)
        check_provider(provider, config.provider)
    ids = [provider] if provider is not None else model_choices.list_providers(settings, config, every=every)
    found = model_choices.list_models(settings, config, ids, print_note)
    missing = await model_choices.missing_keys(settings, config, dict.fromkeys(each.provider for each in found))
    return CommandOutput(
        [_json(each, missing) for each in found],
        lambda: _rows(found, missing, terminal_columns(), verbose=verbose),
        remarks=chain(
            _remarks(settings, turn_config, ids, found),
            _missing_keys(missing),
            _table_remarks(settings) if verbose else (),
        ),
    )


def _check_named(provider: str) -> None:
    id, slash, _ = provider.partition("/")
    if not id:
        raise UsageError("PROVIDER is empty: name one, or none for all that can be used here.")
    if slash:
        raise UsageError(f"{provider!r} is no provider's name: `holdfast models {id}` lists that one's models.")


async def _refresh(settings: Settings, address: str) -> None:
    from activities.model.table_fetch import fetch_table  # aiohttp costs other listings 100 ms

    table = await fetch_table(address or settings.models_url, settings.models_file)
    print_note(f"Fetched {len(table.models):,} models from {escape_exact(table.source)}.")


def _rows(found: Sequence[ModelChoice], missing: Collection[str], room: int | None, *, verbose: bool) -> list[Row]:
    """The rows, with a column for keys if any is missing."""
    if not found or (room is None and not verbose):
        return [escape_exact(each.model) for each in found]
    headings = (*([_KEY] if missing else []), *_HEADINGS, *(_MORE_HEADINGS if verbose else ()))
    keys = [(("no" if each.provider in missing else "yes"),) if missing else () for each in found]
    cells = [
        (*key, *_cells(each), *(_more_cells(each) if verbose else ())) for key, each in zip(keys, found, strict=True)
    ]
    widths = [max(map(len, column)) for column in zip(headings, *cells, strict=True)]
    aligned = [
        "  ".join(cell.rjust(most) for cell, most in zip(row, widths, strict=True)) for row in (headings, *cells)
    ]
    names = ["model", *(escape_exact(each.model) for each in found)]
    return format_headed(zip(names, aligned, strict=True), room)


def _cells(choice: ModelChoice) -> tuple[str, str, str, str]:
    facts, price = choice.facts, choice.facts.price
    rates = (_dollars(price.input), _dollars(price.output)) if price else (_UNKNOWN, _UNKNOWN)
    return (_tokens(facts.context), _tokens(facts.max_output), *rates)


def _more_cells(choice: ModelChoice) -> tuple[str, ...]:
    facts, price = choice.facts, choice.facts.price
    cache = (price.cache_read, price.cache_write) if price else (None, None)
    above = min((tier.above for tier in price.tiers), default=0) if price else 0
    sees = ", ".join(name for name, seen in (("pictures", facts.images), ("PDF", facts.documents)) if seen)
    rates = (_UNKNOWN if rate is None else _dollars(rate) for rate in cache)
    return (
        *rates,
        f"{above:,}" if above else "",
        sees,
        "yes" if facts.reasoning else "",
        ", ".join(map(one_line, choice.variants)),
    )


def _tokens(limit: int) -> str:
    return f"{limit:,}" if limit else _UNKNOWN


def _dollars(rate: Decimal) -> str:
    whole, _, decimals = f"{rate:.4f}".partition(".")
    return f"{whole}.{decimals.rstrip('0').ljust(2, '0')}"


def _json(choice: ModelChoice, missing: Collection[str]) -> dict[str, Any]:
    facts = choice.facts
    return {
        "model": choice.model,
        "name": choice.name,
        "configured": choice.configured,
        "key": choice.provider not in missing,
        "context": facts.context or None,
        "output": facts.max_output or None,
        "price": _price(facts.price),
        "pictures": facts.images,
        "pdf": facts.documents,
        "reasoning": facts.reasoning,
        "variants": choice.variants,
    }


def _price(price: Price | None) -> dict[str, Any] | None:
    """The price in US dollars per million tokens."""
    if price is None:
        return None
    tiers = [{"above": tier.above, **_json_rates(tier)} for tier in price.tiers]
    return _json_rates(price) | ({"tiers": tiers} if tiers else {})


def _json_rates(rates: Rates) -> dict[str, float]:
    names = ("input", "output", "reasoning", "cache_read", "cache_write")
    return {name: float(rate) for name in names if (rate := getattr(rates, name)) is not None}


def _without_models(config: Config, ids: Sequence[str], found: Sequence[ModelChoice]) -> list[str]:
    listed = {each.provider for each in found}
    own = {id for id, each in config.provider.items() if each.options.base_url}
    return [escape_exact(id) for id in ids if id not in listed and (id in own or len(ids) == 1)]


def _table_remarks(settings: Settings) -> Iterator[str]:
    yield _MORE_EXPLAINED
    if (table := ModelTables(settings.models_file).fetched()) is not None:
        yield f"The table is of {escape_exact(table.source)}, fetched {table.fetched}."


def _missing_keys(missing: Mapping[str, str]) -> Iterator[str]:
    for wrong in dict.fromkeys(filter(None, missing.values())):
        yield f"Warning: {escape_prose(wrong)}"
    lacking = [id for id, wrong in missing.items() if not wrong]
    if not lacking:
        return
    more = len(lacking) - _MOST
    named = ", ".join(map(escape_exact, lacking[:_MOST])) + (f" and {more} more" if more > 0 else "")
    login = escape_exact(lacking[0]) if len(lacking) == 1 else "PROVIDER"
    yield f"No key here for {named}: `holdfast auth login {login}` stores one."


def _remarks(
    settings: Settings, turn_config: TurnConfig, ids: Sequence[str], found: Sequence[ModelChoice]
) -> Iterator[str]:
    if not ids:
        yield f"{NO_KEY} `holdfast models --all` lists the models of all providers."
    if bare := _without_models(turn_config.config, ids, found):
        yield f"No model of {one_line(', '.join(bare))} is listed: name one that is served there, as -m {bare[0]}/NAME."
    if found and terminal_columns() is not None:
        yield _EXPLAINED
    try:
        if (named := effective_model(turn_config, None)) is not None:
            yield f"Without -m, `holdfast run` takes {escape_exact(named)} here."
        elif len(default := default_models(settings).candidates(turn_config.config)) == 1:
            yield f"Without -m, `holdfast run` takes {escape_exact(default[0])} here, as nothing is configured."
    except UsageError as error:
        yield f"Warning: the configured model cannot be asked: {escape_prose(str(error))}"
