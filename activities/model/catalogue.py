"""The models to choose from: the configuration's, and those in the table of models."""

from collections.abc import Collection, Iterator, Mapping
from datetime import date
from difflib import get_close_matches

from activities.model import litellm_table
from activities.model.azure import AZURE
from activities.model.configured_facts import merge_facts
from activities.model.endpoint import Endpoint
from activities.model.endpoints import protocol_of
from activities.model.litellm_table import ModelTable
from activities.model.model_names import is_older
from activities.model.model_options import find_variants
from activities.model.model_table import ModelTables
from activities.model.other_programs_keys import BY_SIGN_IN
from activities.model.port import ModelFacts
from activities.model.providers import PROVIDERS, check_provider, provider_named, split_model_id
from activities.model.wires.litellm.litellm_names import LITELLM_PROVIDERS, TEXT_ONLY
from activities.model.wires.wire_selection import needs_litellm, select_wire
from workflows.domain.config.provider_settings import Provider, ProviderModel
from workflows.domain.errors import UsageError
from workflows.domain.value import Value


class ModelChoice(Value):
    """A model as `-m` takes it, with the facts for a turn, and its variants' names; `configured`: the configuration
    describes it."""

    model: str
    name: str | None = None
    configured: bool = False
    facts: ModelFacts
    variants: tuple[str, ...] = ()

    @property
    def provider(self) -> str:
        return split_model_id(self.model)[0]


def list_providers(
    configured: Collection[str], stored: Collection[str], environment: Mapping[str, str], *, every: bool = False
) -> list[str]:
    """The providers with a configuration, a key or settings, or all; each by its first name."""
    found = {id: _provider_identity(id) for id in sorted(configured)}
    for id in (*PROVIDERS, *sorted(LITELLM_PROVIDERS.difference(PROVIDERS, TEXT_ONLY, BY_SIGN_IN))):
        provider = provider_named(id)
        variables = provider.variables if provider.needs_key else (*provider.variables, *provider.settings)
        keyed = every or any(map(environment.get, variables))
        if id in stored or (keyed and _provider_identity(id) not in found.values()):
            found.setdefault(id, _provider_identity(id))
    return list(found)


def has_litellm_key(stored: Collection[str], environment: Mapping[str, str]) -> bool:
    return any(needs_litellm(provider_named(id).litellm) for id in list_providers((), stored, environment))


def _provider_identity(id: str) -> tuple[str, str | None]:
    provider = provider_named(id)
    return provider.litellm, provider.address


def list_models(id: str, providers: Mapping[str, Provider], table: ModelTable, today: date) -> Iterator[ModelChoice]:
    """A provider's models; an own address with described models has no others.

    `providers` are the configured ones. Raises UsageError for a provider that cannot be asked.
    """
    check_provider(id, providers)
    configured = providers.get(id) or Provider()
    protocol = protocol_of(id, configured, configured.options.base_url)
    for name, entry in configured.models.items():
        family = f"{protocol}/{entry.id or name}"
        known = litellm_table.find_facts(table, family)
        if known.guessed:
            family = f"{protocol}/{name}"
            known = litellm_table.find_facts(table, family)
        facts = merge_facts(id, entry, known, configured.options.base_url)
        variants = _variants(id, family, configured, entry, facts)
        yield ModelChoice(model=f"{id}/{name}", name=entry.name, configured=True, facts=facts, variants=variants)
    if not _serves_table_models(id, protocol) or (configured.models and configured.options.base_url):
        return
    for name in dict.fromkeys(sorted(litellm_table.model_names(table, protocol, today))):
        facts = litellm_table.find_facts(table, f"{protocol}/{name}")
        if name not in configured.models and _can_be_asked(id, f"{protocol}/{name}", facts, configured):
            variants = _variants(id, f"{protocol}/{name}", configured, ProviderModel(), facts)
            yield ModelChoice(
                model=f"{id}/{name}", facts=merge_facts(id, ProviderModel(), facts, None), variants=variants
            )


def _serves_table_models(id: str, protocol: str) -> bool:
    """A program on this machine serves what it has, not what the table lists."""
    provider = provider_named(id)
    known = provider.listed or id in LITELLM_PROVIDERS
    return known and protocol == provider.litellm and (protocol != "openai" or id == "openai")


def variants_of(model: str, providers: Mapping[str, Provider], tables: ModelTables) -> tuple[str, ...]:
    """The names of a model's variants ("provider/model"). Raises UsageError for one that cannot be asked."""
    id, name = split_model_id(model)
    configured = providers.get(id) or Provider()
    family, facts = _family_and_facts(id, name, providers, tables)
    return _variants(id, family, configured, configured.models.get(name) or ProviderModel(), facts)


def facts_of(model: str, providers: Mapping[str, Provider], tables: ModelTables) -> ModelFacts:
    """What is known of a model ("provider/model") before it is asked. Raises as `variants_of`."""
    return _family_and_facts(*split_model_id(model), providers, tables)[1]


def _family_and_facts(
    id: str, name: str, providers: Mapping[str, Provider], tables: ModelTables
) -> tuple[str, ModelFacts]:
    check_provider(id, providers)
    configured = providers.get(id) or Provider()
    entry = configured.models.get(name) or ProviderModel()
    protocol = protocol_of(id, configured, configured.options.base_url)
    family = f"{protocol}/{entry.id or name}"
    if (known := tables.facts(family)).guessed:
        family = f"{protocol}/{name}"
        known = tables.facts(family)
    return family, merge_facts(id, entry, known, configured.options.base_url)


class TableMatch(Value):
    """Whether no table has a model, nor the configuration. It then has the facts of the model `alike`, by the name that
    this has in the tables; None: none."""

    unknown: bool = False
    alike: str | None = None


def match_model(model: str, providers: Mapping[str, Provider], tables: ModelTables) -> TableMatch:
    """What the tables have for a name ("provider/model"). Names that are a person's own, those of deployments and of
    models on this machine, are not unknown: no newer table has them.

    Raises UsageError for a provider that cannot be asked.
    """
    id, name = split_model_id(model)
    check_provider(id, providers)
    configured = providers.get(id) or Provider()
    protocol = protocol_of(id, configured, configured.options.base_url)
    here = (provider_named(id).address or "").startswith("http://127.")
    own_names = protocol == AZURE or here or not _serves_table_models(id, protocol)
    if own_names or name in configured.models or not tables.facts(f"{protocol}/{name}").guessed:
        return TableMatch()
    return TableMatch(unknown=True, alike=litellm_table.find_relative(tables.all(), f"{protocol}/{name}"))


def nearest_model(model: str, providers: Mapping[str, Provider], tables: ModelTables, today: date) -> str | None:
    """The model that was probably meant by a name ("provider/model") that neither the configuration nor a table has;
    None for a name that is known, that resembles none, or that names a newer model than those that are known.

    Raises UsageError for a provider that cannot be asked.
    """
    id, name = split_model_id(model)
    configured = providers.get(id) or Provider()
    protocol = protocol_of(id, configured, configured.options.base_url)
    own_names = protocol == AZURE  # of deployments
    if own_names or name in configured.models or not tables.facts(f"{protocol}/{name}").guessed:
        return None
    names = [choice.model for choice in list_models(id, providers, tables.all(), today)]
    near = next(iter(get_close_matches(model.lower(), names, n=1)), None)
    return None if near is None or is_older(near, model) else near


def _variants(id: str, family: str, configured: Provider, entry: ProviderModel, facts: ModelFacts) -> tuple[str, ...]:
    """`family`: the model's name in the table, as in `Endpoint.model`."""
    endpoint = Endpoint(model=family, base_url=configured.options.base_url or provider_named(id).address)
    try:
        endpoint = select_wire(endpoint, responses=facts.responses, package=configured.npm, id=id)
    except UsageError:
        return ()
    return tuple(find_variants(endpoint, entry, facts))


def _can_be_asked(id: str, model: str, facts: ModelFacts, configured: Provider) -> bool:
    try:
        select_wire(Endpoint(model=model), responses=facts.responses, package=configured.npm, id=id)
    except UsageError:
        return False
    return True
