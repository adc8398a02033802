"""From "provider/model" and the configuration to a model's address, key and price."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Final, Literal
from urllib.parse import urlsplit

from pydantic import JsonValue, SecretStr

from activities.model.addresses import normalise_address
from activities.model.headers import header_name, header_value
from activities.model.keys import Keys, find_key
from activities.model.litellm_providers import LITELLM_PROVIDERS
from activities.model.output_limit import output_limit, split_options
from activities.model.port import Endpoint, InputMessage, ModelFacts, ModelPort, ModelRequest
from activities.model.providers import (
    OPENAI_COMPATIBLE,
    OPENAI_URL,
    PROTOCOL_OF_PACKAGE,
    KnownProvider,
    check_provider,
    no_address_error,
    provider_named,
    split_model_id,
)
from activities.model.wires.wire_selection import select_wire
from activities.project.config_references import resolve, resolve_all
from workflows.domain.config.config import Config, Prices, Provider, ProviderModel
from workflows.domain.config.references import iter_texts
from workflows.domain.errors import UsageError
from workflows.domain.tool_offer import ToolOffer
from workflows.domain.usage import Price, PriceTier
from workflows.domain.value import Value

_LONG_CONTEXT: Final = 200_000  # tokens of a prompt, above which `context_over_200k` counts


class ResolvedModel(Value):
    """A model that can be asked: its name ("provider/model"), where, with which options, and its facts.

    `max_output`: limit of its answers in tokens; None: the provider's.
    """

    name: str
    endpoint: Endpoint
    options: dict[str, JsonValue]
    facts: ModelFacts
    max_output: int | None = None

    @property
    def price(self) -> Price | None:
        return self.facts.price

    def request(
        self,
        messages: tuple[InputMessage, ...],
        tools: tuple[ToolOffer, ...] = (),
        tool_choice: Literal["none"] | None = None,
    ) -> ModelRequest:
        return ModelRequest(
            endpoint=self.endpoint,
            messages=messages,
            tools=tools,
            tool_choice=tool_choice,
            max_output=self.max_output,
            options=self.options,
        )


class EndpointResolver:
    """Looks models up; `environment`: for `{env:…}` and the providers' variables."""

    def __init__(self, keys: Keys, environment: Mapping[str, str], port: ModelPort) -> None:
        self.keys = keys
        self.environment = environment
        self.port = port

    async def resolve(self, model: str, config: Config) -> ResolvedModel:
        """Where `model` ("provider/model") is reached.

        Raises UsageError for a name without provider, an unknown provider or package, a missing key, and a key or
        header that cannot be sent.
        """
        id, name = split_model_id(model)
        check_provider(id, config.provider)
        configured = config.provider.get(id) or Provider()
        entry = configured.models.get(name) or ProviderModel()
        endpoint = await self._endpoint(id, name, configured, entry)
        known = await self.port.facts(endpoint.model)
        endpoint = select_wire(endpoint, responses=known.responses, package=configured.npm, id=id)
        facts, protocol = merge_facts(entry, known), endpoint.model.partition("/")[0]
        options = {name: await resolve_all(value, self.environment) for name, value in entry.options.items()}
        endpoint = endpoint.model_copy(update={"other_secrets": tuple(_resolved_secrets(entry.options, options))})
        own, options = split_options(options)
        limit = own or output_limit(protocol, facts.max_output, options, configured=entry.limit is not None)
        return ResolvedModel(name=model, endpoint=endpoint, options=options, facts=facts, max_output=limit)

    async def _endpoint(self, id: str, name: str, configured: Provider, entry: ProviderModel) -> Endpoint:
        provider = provider_named(id)
        written = await self._resolved(configured.options.base_url)
        own = _check_address(id, written) if written else None
        protocol = protocol_of(id, configured, own)
        base_url = normalise_address(protocol, own) if own else _address(provider, protocol, configured)
        headers = await self._headers(f"provider.{id}.options", configured.options.headers)
        headers |= await self._headers(f"provider.{id}.models.{name}", entry.headers)
        return Endpoint(
            model=f"{protocol}/{entry.id or name}",
            base_url=base_url,
            key=await self._key(provider, configured, own),
            headers=headers,
        )

    async def _headers(self, section: str, written: Mapping[str, str]) -> dict[str, str]:
        return {
            header_name(f"{section}.headers", name): header_value(
                f"{section}.headers.{name}", await resolve(value, self.environment)
            )
            for name, value in written.items()
        }

    async def _key(self, provider: KnownProvider, configured: Provider, base_url: str | None) -> SecretStr | None:
        written = configured.options.api_key
        found = find_key(provider, await self._resolved(written), self.keys, self.environment)
        if found is None and written is not None:
            name = f"provider.{provider.id}.options.apiKey"
            raise UsageError(f"{name} is {written!r}, which is empty here: set it, or run {_login_command(provider)}.")
        if found is None and provider.needs_key and base_url is None:
            variable = provider.variables[0]
            raise UsageError(f"There is no key for {provider.id!r}: set {variable}, or run {_login_command(provider)}.")
        return found

    async def _resolved(self, text: str | None) -> str | None:
        return await resolve(text, self.environment) or None if text else None


def _resolved_secrets(written: JsonValue, resolved: JsonValue) -> Iterator[SecretStr]:
    for (_, before), (_, text) in zip(iter_texts(written), iter_texts(resolved), strict=True):
        if text != before:
            yield SecretStr(text)


def _login_command(provider: KnownProvider) -> str:
    return f"`holdfast auth login {provider.id}`"


def _check_address(id: str, address: str) -> str:
    """Strip surrounding blanks. Raises UsageError for an invalid address, without quoting it."""
    address = address.strip()
    try:
        parts = urlsplit(address)
        fine = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and len(address.split()) == 1
    except ValueError:
        fine = False
    if not fine:
        form = "https://host/path or http://host:port/path"
        raise UsageError(f"provider.{id}.options.baseURL is no address: write it as {form}. Nothing was sent.")
    return address


def protocol_of(id: str, configured: Provider, base_url: str | None) -> str:
    """The named package's protocol; else an unknown provider with an address speaks OpenAI's."""
    package, provider = configured.npm, provider_named(id)
    if package is not None and not (package == OPENAI_COMPATIBLE and provider.listed and base_url is None):
        return PROTOCOL_OF_PACKAGE[package]
    return "openai" if base_url and not provider.listed else provider.litellm


def _address(provider: KnownProvider, protocol: str, configured: Provider) -> str | None:
    """The address unless configured: the provider's, else that of the package's company."""
    if protocol == provider.litellm and (provider.listed or provider.litellm in LITELLM_PROVIDERS):
        return provider.address
    if provider.listed or configured.npm in (None, OPENAI_COMPATIBLE):
        raise no_address_error(provider.id)
    return OPENAI_URL if protocol == "openai" else None


def merge_facts(entry: ProviderModel, known: ModelFacts) -> ModelFacts:
    """The configuration overrides litellm."""
    limit = entry.limit
    limits = {"context": limit.context, "max_output": limit.output} if limit else {}
    price = {"price": _price(entry.cost)} if entry.cost else {}
    sees = {} if entry.attachment is None else {"images": entry.attachment, "documents": entry.attachment}
    return known.model_copy(update={**limits, **price, **sees})


def _price(prices: Prices) -> Price:
    """Without prices for long prompts, those for short ones hold."""
    rates, long = _rates(prices), prices.context_over_200k
    return Price(**rates, tiers=(PriceTier(above=_LONG_CONTEXT, **rates | _rates(long)),) if long else ())


def _rates(prices: Prices) -> dict[str, Decimal]:
    rates = {
        "input": prices.input,
        "output": prices.output,
        "cache_read": prices.cache_read,
        "cache_write": prices.cache_write,
    }
    named = prices.model_fields_set
    return {name: Decimal(str(rate)) for name, rate in rates.items() if rate is not None and name in named}
