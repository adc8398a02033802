"""Fetches a newer table of models from a person's address: litellm's, or models.dev's `api.json`."""

import asyncio
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp

from activities.model.litellm_table import COST_COLUMNS, facts_of_entry
from activities.model.model_table import TABLE_ADDRESS, FetchedTable
from activities.model.providers import PROVIDERS, KnownProvider, company, provider_named
from activities.model.wires.litellm.litellm_names import LITELLM_PROVIDERS
from workflows.domain.errors import UsageError
from workflows.domain.usage import Rates

_TIMEOUT: Final = 60.0  # seconds
_MAX_BYTES: Final = 64 * 2**20
_LOCAL: Final = ("127.0.0.1", "::1", "localhost")
_LONG_CONTEXT: Final = 200_000  # tokens of a prompt, above which models.dev's `context_over_200k` counts
_ODD: Final = (ArithmeticError, ValueError, TypeError, LookupError, AttributeError)  # of an entry of another form
_RANKS: Final = {id: rank for rank, id in enumerate(PROVIDERS)}  # the first of a company's providers counts


async def fetch_table(address: str | None, file: Path) -> FetchedTable:
    """Fetch a table into `file`, atomically; raises UsageError, and leaves the file as it was, if there is no usable
    one."""
    content = await _download(_checked(address))
    models = parse_table(content)
    if not models:
        raise UsageError(f"{address} holds no table of models: litellm's form and that of {TABLE_ADDRESS} are known.")
    table = FetchedTable(source=str(address), fetched=datetime.now(UTC).isoformat(timespec="seconds"), models=models)
    await asyncio.to_thread(_write, file, table)
    return table


def parse_table(content: bytes) -> dict[str, dict[str, Any]]:
    """The usable entries in litellm's form. Nothing for what is no JSON object."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    table: dict[str, dict[str, Any]] = {}
    offers = found.items() if isinstance(found, dict) else ()
    for name, entry in sorted(offers, key=lambda offer: _RANKS.get(offer[0], len(_RANKS))):
        for model, columns in _entries(name, entry) if isinstance(entry, dict) else ():
            if model not in table and _usable(columns):
                table[model] = columns
    return table


def _entries(name: str, entry: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """One entry of litellm's, or all of a provider of models.dev."""
    listed = entry.get("models")
    if not isinstance(listed, dict):
        yield name, dict(entry)
        return
    provider = provider_named(name)
    if provider.listed or name in LITELLM_PROVIDERS:
        for model, known in listed.items():
            with suppress(*_ODD):
                columns = _columns(provider.litellm, known)
                yield f"{provider.litellm}/{model}", _without_subscription(provider, columns)


def _without_subscription(provider: KnownProvider, columns: dict[str, Any]) -> dict[str, Any]:
    """What costs nothing with another provider of a company is a part of a subscription, which others do not have."""
    first, price = company(provider.litellm), facts_of_entry(columns).price
    if first is None or first.id == provider.id or price is None or not price.free:
        return columns
    return {name: value for name, value in columns.items() if "cost" not in name}


def _columns(provider: str, known: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of models.dev, whose prices are dollars per million tokens."""
    limit, cost = _mapping(known.get("limit")), _mapping(known.get("cost"))
    modalities = _mapping(known.get("modalities"))
    long: dict[int, Mapping[str, Any]] = {
        tier["tier"]["size"]: tier
        for tier in cost.get("tiers") or ()
        if isinstance(tier, dict) and _mapping(tier.get("tier")).get("type", "context") == "context"
    }
    # Beside tiers, this repeats one of them, whatever its length.
    if not long:
        long[_LONG_CONTEXT] = _mapping(cost.get("context_over_200k"))
    columns = {
        "litellm_provider": provider,
        "max_input_tokens": limit.get("context"),
        "max_prompt_tokens": limit.get("input"),  # our name: litellm's for the context is taken
        "max_output_tokens": limit.get("output"),
        "supports_function_calling": known.get("tool_call"),
        "supports_reasoning": known.get("reasoning"),
        "reasoning_effort_levels": _efforts(known.get("reasoning_options")),
        "supports_temperature": known.get("temperature"),
        "supports_vision": "image" in (modalities.get("input") or ()),
        "supports_pdf_input": "pdf" in (modalities.get("input") or ()),
        "supported_output_modalities": modalities.get("output"),
        **_prices(cost),
    }
    for above, rates in long.items():
        columns |= {f"{name}_above_{above // 1000}k_tokens": rate for name, rate in _prices(rates).items()}
    return {name: value for name, value in columns.items() if value is not None}


def _efforts(options: list[Mapping[str, Any]] | None) -> list[str] | None:
    """None: by switches and budgets only, or not said."""
    levels = [each["values"] for each in options or () if each["type"] == "effort"]
    if not levels:
        return [] if options == [] else None
    return ["none" if each is None else each for each in levels[0] if each != "default"]


def _prices(rates: Mapping[str, Any]) -> dict[str, str]:
    """Per token, as decimals: a float would be inexact."""
    return {
        column: str(Decimal(str(rates[name])) / 1_000_000)
        for name, column in COST_COLUMNS.items()
        if isinstance(rates.get(name), int | float)
    }


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _usable(columns: Mapping[str, Any]) -> bool:
    """Whether the entry can be read; a wrong price is worse than none."""
    try:
        facts = facts_of_entry(columns)
    except _ODD:
        return False
    return facts.price is None or all(_is_price(each) for each in (facts.price, *facts.price.tiers))


def _is_price(rates: Rates) -> bool:
    known = (rates.input, rates.output, rates.reasoning, rates.cache_read, rates.cache_write)
    return all(rate is None or (rate.is_finite() and rate >= 0) for rate in known)


def _checked(address: str | None) -> str:
    if address is None:
        raise UsageError(
            f"There is no address to fetch a table of models from: write --refresh={TABLE_ADDRESS}, or set "
            "HOLDFAST_MODELS_URL."
        )
    parts = urlsplit(address)
    if not parts.hostname or not (parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOCAL)):
        raise UsageError(f"{address!r} is no address of a table of models: write https://HOST/PATH.")
    return address


async def _download(address: str) -> bytes:
    timeout = aiohttp.ClientTimeout(total=_TIMEOUT)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, trust_env=True) as session,
            session.get(address) as response,
        ):
            _checked(str(response.url))  # where it was redirected to
            if response.status != 200:
                raise UsageError(f"{address} answered with status {response.status}; the table is as it was.")
            content = await response.content.read(_MAX_BYTES + 1)
            while chunk := await response.content.read(_MAX_BYTES + 1 - len(content)):
                content += chunk
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        reason = str(error) or f"no answer within {_TIMEOUT:g} s"
        raise UsageError(f"{address} could not be fetched: {reason}. The table is as it was.") from error
    if len(content) > _MAX_BYTES:
        raise UsageError(f"{address} sends more than {_MAX_BYTES:,} bytes, which is no table of models.")
    return content


def _write(file: Path, table: FetchedTable) -> None:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    scratch = file.with_name(f"{file.name}.{os.getpid()}.new")
    scratch.write_text(table.model_dump_json())
    scratch.replace(file)
