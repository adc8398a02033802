"""EndpointResolver: from "provider/model" and the configuration to the endpoint, its key and its price."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final, Literal, TypeAlias

from pydantic import JsonValue, SecretStr

from activities.credentials.keys import Keys
from activities.model.addresses import check_address, normalise_address
from activities.model.azure import AZURE, resource_address, with_version
from activities.model.bedrock_regions import BEDROCK
from activities.model.configured_facts import merge_facts
from activities.model.encoded_messages import MessageEncoder
from activities.model.endpoint import Endpoint, Route, Wire
from activities.model.headers import header_name, header_value
from activities.model.key_lookup import find_key
from activities.model.model_families import default_options
from activities.model.model_options import (
    agent_options,
    find_variants,
    merge_layers,
    requested_terms,
    spell,
    unknown_variant_error,
)
from activities.model.other_programs_keys import PROGRAMS, find_foreign_keys
from activities.model.output_limit import output_limit, split_options
from activities.model.port import InputMessage, ModelFacts, ModelPort, ModelRequest
from activities.model.provider_files import provider_file
from activities.model.providers import (
    OPENAI_COMPATIBLE,
    OPENAI_URL,
    PROTOCOL_OF_PACKAGE,
    KnownProvider,
    check_model,
    company,
    no_address_error,
    provider_named,
    split_model_id,
)
from activities.model.vertex import VERTEX, place_on_vertex
from activities.model.wires.litellm.litellm_names import LITELLM_PROVIDERS
from activities.model.wires.timeouts import silence_limits
from activities.model.wires.wire_selection import select_wire
from activities.own_thread import read_in_time
from activities.project.config_references import resolve, resolve_all
from workflows.domain.agents.agent import Agent
from workflows.domain.config.config import Compaction, Config
from workflows.domain.config.provider_settings import Provider, ProviderModel, ProviderOptions
from workflows.domain.config.references import iter_texts
from workflows.domain.context_window import usable_tokens
from workflows.domain.errors import MissingKey, UsageError
from workflows.domain.ids import SessionId
from workflows.domain.tool_offer import ToolOffer
from workflows.domain.usage import Price, Terms
from workflows.domain.value import Value

_KEY_FILES: Final = "The files with keys, of Holdfast and other programs,"
_FILES: Final = {"ca_file": "caFile", "cert_file": "certFile", "key_file": "keyFile"}
# providers that take a cache key, unless `setCacheKey` says otherwise: those of OpenCode's provider/transform.ts
_CACHE_KEYS: Final = frozenset(
    {"openai", "azure", "openrouter", "xai", "mistral", "deepinfra", "cerebras", "venice", "opencode"}
)


class ResolvedModel(Value):
    """A model that can be asked: its name ("provider/model"), where, with which options, and its facts.

    `max_output`: limit of its answers in tokens; None: the provider's. `cache_key`: whether requests have one.
    `variant`: the one in its options.
    """

    name: str
    endpoint: Endpoint
    options: dict[str, JsonValue]
    facts: ModelFacts
    max_output: int | None = None
    cache_key: bool = False
    variant: str | None = None

    @property
    def price(self) -> Price | None:
        return self.facts.price

    @property
    def terms(self) -> Terms:
        return requested_terms(self.options)

    def usable(self, compaction: Compaction) -> int:
        """As in `usable_tokens`."""
        facts = self.facts
        return usable_tokens(
            context=facts.context, max_input=facts.max_input, max_output=facts.max_output, compaction=compaction
        )

    def request(
        self,
        messages: tuple[InputMessage, ...],
        tools: tuple[ToolOffer, ...] = (),
        tool_choice: Literal["none"] | None = None,
        session: SessionId | None = None,
        parent: SessionId | None = None,
        encoder: MessageEncoder | None = None,
        format: Mapping[str, JsonValue] | None = None,
    ) -> ModelRequest:
        return ModelRequest(
            endpoint=self.endpoint,
            messages=messages,
            tools=tools,
            tool_choice=tool_choice,
            max_output=self.max_output,
            context=self.facts.context,
            options=self.options,
            cache_key=session if self.cache_key else None,
            session=session,
            parent=parent,
            encoder=encoder or MessageEncoder(),
            format=format,
        )


Newest: TypeAlias = Callable[[str, Config, str | None], str | None]  # as DefaultModels.newest


class EndpointResolver:
    """Looks models up; `environment`: for `{env:…}` and the providers' variables; `newest`: for families of models."""

    def __init__(
        self, keys: Keys, environment: Mapping[str, str], port: ModelPort, newest: Newest | None = None
    ) -> None:
        self.keys = keys
        self.environment = environment
        self.port = port
        self.newest = newest

    async def named_by(self, agent: Agent, config: Config, near: str) -> str | None:
        """The model that an agent names; for a family its newest, or None where it has none."""
        family = agent.model_family
        return await asyncio.to_thread(self.newest, family, config, near) if family and self.newest else agent.model

    async def resolve(
        self, model: str, config: Config, *, agent: Agent | None = None, variant: str | None = None
    ) -> ResolvedModel:
        """Where `model` ("provider/model") is reached, and with which options.

        Raises UsageError for a name without provider, an unknown provider, package or variant, a missing key, and a key
        or header that cannot be sent. An agent's own variant counts where the model has it.
        """
        id, name = split_model_id(model)
        check_model(model, config)
        configured = config.provider.get(id) or Provider()
        entry = configured.models.get(name) or ProviderModel()
        endpoint, behind, facts = await self._place(id, name, configured, entry)
        variants = find_variants(behind, entry, facts)
        chosen = _choose_variant(model, variant, agent, variants)
        of_agent = agent_options(agent, behind, entry, facts)
        written: list[JsonValue] = [entry.options, of_agent, variants.get(chosen or "", {})]
        endpoint, layers = await self._resolve_options(endpoint, written)
        own, options = split_options(merge_layers([default_options(behind, facts), *layers]))
        limit = own or output_limit(
            endpoint, facts.max_output, options, configured=entry.limit is not None, thinks=facts.reasoning
        )
        keyed = configured.options.set_cache_key
        return ResolvedModel(
            name=model,
            endpoint=endpoint,
            options=options,
            facts=facts,
            max_output=limit,
            cache_key=id in _CACHE_KEYS if keyed is None else keyed,
            variant=chosen,
        )

    async def _place(
        self, id: str, name: str, configured: Provider, entry: ProviderModel
    ) -> tuple[Endpoint, Endpoint, ModelFacts]:
        """The endpoint of the model, the same endpoint with its family's name, and its facts."""
        endpoint = await self._endpoint(id, name, configured, entry)
        family, known = endpoint.model, await self._facts(endpoint, entry.id or name)
        if entry.id and known.guessed:  # a deployment's own name: the configuration has the model's
            family = f"{family.partition('/')[0]}/{name}"
            known = await self.port.facts(family)
            endpoint = endpoint.model_copy(update={"behind": name})
        endpoint = select_wire(endpoint, responses=known.responses, package=configured.npm, id=id, behind=name)
        return (
            endpoint,
            endpoint.model_copy(update={"model": family}),
            merge_facts(id, entry, known, configured.options.base_url),
        )

    async def _resolve_options(
        self, endpoint: Endpoint, written: list[JsonValue]
    ) -> tuple[Endpoint, list[dict[str, JsonValue]]]:
        resolved = [await resolve_all(options, self.environment) for options in written]
        secrets = (*endpoint.other_secrets, *_resolved_secrets(written, resolved))
        spelled = [spell(options, endpoint.wire) for options in resolved if isinstance(options, dict)]
        return endpoint.model_copy(update={"other_secrets": secrets}), spelled

    async def _facts(self, endpoint: Endpoint, name: str) -> ModelFacts:
        """The facts of a model that no table has for its region: those it has elsewhere, without the price."""
        known = await self.port.facts(endpoint.model)
        if (known.context and not known.guessed) or endpoint.name == name:
            return known
        return (await self.port.facts(f"{endpoint.provider}/{name}")).model_copy(update={"price": None})

    async def _endpoint(self, id: str, name: str, configured: Provider, entry: ProviderModel) -> Endpoint:
        provider = provider_named(id)
        resolved = await resolve_all(configured.options.model_dump(), self.environment)
        options = ProviderOptions.model_validate(resolved)
        own = check_address(f"provider.{id}.options.baseURL", options.base_url) if options.base_url else None
        protocol = protocol_of(id, configured, own)
        if protocol == BEDROCK and options.endpoint:
            own = check_address(f"provider.{id}.options.endpoint", options.endpoint)
        if own is None and protocol == AZURE:
            own = check_address(*resource_address(id, options, self.environment))
        base_url = normalise_address(protocol, own) if own else _address(provider, protocol, configured)
        if base_url and protocol == AZURE:
            base_url = with_version(base_url, options)
        headers = await self._headers(f"provider.{id}.options", configured.options.headers)
        headers |= await self._headers(f"provider.{id}.models.{name}", entry.headers)
        signed = any(name.lower() == "authorization" for name in headers)
        endpoint = Endpoint(
            model=f"{protocol}/{entry.id or name}",
            base_url=base_url,
            key=await find_or_require_key(
                provider, configured, self.keys, self.environment, reached=bool(options.base_url or signed)
            ),
            headers=headers,
            silence=silence_limits(options),
            route=_route(f"provider.{id}.options", configured.options, options),
        )
        if protocol == BEDROCK:
            from activities.model.aws import place_on_aws  # start-up time of commands

            return await place_on_aws(endpoint, options, self.environment, self.port.aws_region)
        if protocol == VERTEX:
            return place_on_vertex(endpoint, id, options, configured.options, self.environment)
        return endpoint

    async def _headers(self, section: str, written: Mapping[str, str]) -> dict[str, str]:
        return {
            header_name(f"{section}.headers", name): header_value(
                f"{section}.headers.{name}", await resolve(value, self.environment)
            )
            for name, value in written.items()
        }


async def find_or_require_key(
    provider: KnownProvider, configured: Provider, keys: Keys, environment: Mapping[str, str], *, reached: bool
) -> SecretStr | None:
    """`reached`: the provider may be without a key, at an own address or with an own header. Raises UsageError."""
    written, key_name = configured.options.api_key, configured.options.key_name
    own, name = [await resolve(text, environment) or None if text else None for text in (written, key_name)]
    if name is None and key_name is not None:
        field = f"provider.{provider.id}.options.keyName"
        raise UsageError(f"{field} is {key_name!r}, which is empty here: set it, or remove it.")
    found = await read_in_time(repr(str(keys.path)), partial(find_key, provider, own, keys, environment, name))
    if found is None and written is not None:
        field = f"provider.{provider.id}.options.apiKey"
        raise MissingKey(f"{field} is {written!r}, which is empty here: set it, or run {_login_command(provider)}.")
    if found is None and provider.needs_key and not reached:
        variable = provider.variables[0]
        raise MissingKey(
            f"There is no key for {provider.id!r}: set {variable}, or run {_login_command(provider)}."
            f"{await read_in_time(_KEY_FILES, partial(_other_keys, provider.id, keys, environment))}"
        )
    return found


def _other_keys(id: str, keys: Keys, environment: Mapping[str, str]) -> str:
    """The keys that could be used, in a sentence."""
    if named := [name for provider, name in keys.entries() if provider == id and name]:
        return f" Stored by name, for provider.{id}.options.keyName: {', '.join(named)}."
    found = (each.program for each in find_foreign_keys(environment) if each.key and each.provider == id)
    program = next(found, None)
    return f" {PROGRAMS[program]} has one: `holdfast auth login {id} --from {program}` copies it." if program else ""


def _choose_variant(
    model: str, named: str | None, agent: Agent | None, variants: Mapping[str, dict[str, JsonValue]]
) -> str | None:
    """An agent's own counts where the model has it. Raises UsageError for another one."""
    chosen = named or (agent.variant if agent and agent.variant in variants else None)
    if chosen is not None and chosen not in variants:
        raise unknown_variant_error(model, chosen, variants)
    return chosen


def _resolved_secrets(written: JsonValue, resolved: JsonValue) -> Iterator[SecretStr]:
    for (_, before), (_, text) in zip(iter_texts(written), iter_texts(resolved), strict=True):
        if text != before:
            yield SecretStr(text)


def _route(section: str, written: ProviderOptions, resolved: ProviderOptions) -> Route:
    if resolved.key_file and not resolved.cert_file:
        raise UsageError(f"{section}.keyFile is the key of no certificate: name that as {section}.certFile.")
    files = {
        name: provider_file(f"{section}.{option}", getattr(written, name) or "", path)
        for name, option in _FILES.items()
        if (path := getattr(resolved, name))
    }
    return Route(proxy=SecretStr(resolved.proxy) if resolved.proxy else None, **files)


def _login_command(provider: KnownProvider) -> str:
    return f"`holdfast auth login {provider.id}`"


def protocol_of(id: str, configured: Provider, base_url: str | None) -> str:
    """The named package's protocol; else an unknown provider with an address speaks OpenAI's."""
    package, provider = configured.npm, provider_named(id)
    own = provider.wire is Wire.CHAT if base_url else provider.listed
    if package is not None and not (package == OPENAI_COMPATIBLE and own):
        return PROTOCOL_OF_PACKAGE[package]
    return "openai" if base_url and not provider.listed else provider.litellm


def _address(provider: KnownProvider, protocol: str, configured: Provider) -> str | None:
    """The address unless configured: the provider's, else that of the package's company."""
    if protocol == provider.litellm and (provider.listed or provider.litellm in LITELLM_PROVIDERS):
        return provider.address
    if provider.listed or configured.npm in (None, OPENAI_COMPATIBLE):
        raise no_address_error(provider.id)
    if protocol == "openai":
        return OPENAI_URL
    same = company(protocol)
    return same.address if same else None
