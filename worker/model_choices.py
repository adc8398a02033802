"""The providers and models to choose from in a directory."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date

from pydantic import SecretStr

from activities.credentials.keys import Keys
from activities.model import catalogue
from activities.model.catalogue import ModelChoice
from activities.model.endpoints import find_or_require_key
from activities.model.key_lookup import find_key
from activities.model.model_names import find_meant
from activities.model.model_options import requested_terms, unknown_variant_error
from activities.model.model_table import TABLE_ADDRESS, ModelTables
from activities.model.providers import provider_named, split_model_id
from activities.project.config_references import resolve
from worker import credential_handoff
from worker.config_remarks import on_one_line
from worker.credential_handoff import CredentialEnvironment
from worker.project_config import default_models, effective_model
from worker.settings import Settings
from workflows.domain.agents.agent import AgentMode
from workflows.domain.agents.built_in import COMPACTION, TITLE
from workflows.domain.budgets import ChosenLimits, unpriced_text
from workflows.domain.config.agent_selection import available_agents, hidden_agent, is_disabled
from workflows.domain.config.allowed_models import is_allowed
from workflows.domain.config.config import Config
from workflows.domain.config.provider_settings import Provider, ProviderModel
from workflows.domain.config.references import has_reference
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import MisspeltModel, UnchosenModel, UsageError


def list_providers(settings: Settings, config: Config, *, every: bool = False) -> list[str]:
    """Providers with a key here or in the configuration, or all."""
    return catalogue.list_providers(
        config.provider, Keys(settings.auth).list(), dict(CredentialEnvironment(settings)), every=every
    )


def list_models(
    settings: Settings, config: Config, ids: Sequence[str], warn: Callable[[str], None]
) -> list[ModelChoice]:
    """The models to choose from, without those that the configuration excludes. Warns of a wrongly configured provider,
    and leaves it out."""
    table, today, found = ModelTables(settings.models_file).all(), date.today(), list[ModelChoice]()
    for id in ids:
        try:
            listed = catalogue.list_models(id, config.provider, table, today)
            found += [each for each in listed if is_allowed(config, *split_model_id(each.model))]
        except UsageError as error:
            warn(f"Left out: {error}")
    return found


async def find_provider_key(settings: Settings, config: Config, id: str) -> SecretStr | None:
    """Looks where the worker does: configuration, `auth login`, variables. Raises UsageError for a wrong one."""
    options = (config.provider.get(id) or Provider()).options
    environment = CredentialEnvironment(settings)
    written, name = [await resolve(text or "", environment) for text in (options.api_key, options.key_name)]
    return find_key(provider_named(id), written, Keys(settings.auth), environment, name)


def needs_key(config: Config, id: str) -> bool:
    """Whether a key is needed: not at an own address, with an own authorization, or with a sign-in of AWS's or
    Google's."""
    options = (config.provider.get(id) or Provider()).options
    authorized = any(name.lower() == "authorization" for name in options.headers)
    return options.api_key is not None or not (options.base_url or authorized or not provider_named(id).needs_key)


async def missing_keys(settings: Settings, config: Config, ids: Iterable[str]) -> dict[str, str]:
    """The providers that need a key and have none here; with what is wrong with theirs, if there is one."""
    missing = dict[str, str]()
    for id in ids:
        try:
            if await find_provider_key(settings, config, id) is None and needs_key(config, id):
                missing[id] = ""
        except UsageError as error:
            missing[id] = str(error)
    return missing


def choose_model(
    settings: Settings, turn_config: TurnConfig, named: str | None, of_last_turn: str | None = None
) -> str:
    """`named` comes from a flag or the session. Raises UsageError without a usable model."""
    model = effective_model(turn_config, named) or of_last_turn
    return model or default_model(settings, turn_config.config, turn_config.agent.model_family)


def default_model(settings: Settings, config: Config, family: str | None = None) -> str:
    """The model that works where none is named: of a `family`, the newest. Raises UsageError, also where there are
    several."""
    models = default_models(settings)
    if family and (newest := models.newest(family, config, None)):
        return newest
    found = models.candidates(config)
    if not found and credential_handoff.keys_are_elsewhere(settings):
        raise UsageError("No model is chosen, and the worker has its keys on another machine: name one with -m.")
    if len(found) != 1:
        raise UnchosenModel(models.refusal(config, found), () if family else found)
    return found[0]


async def check_key(settings: Settings, config: Config, model: str) -> None:
    """Raises UsageError where the model's provider certainly has no key: neither here nor with the worker."""
    id, configured = split_model_id(model)[0], config.provider.get(split_model_id(model)[0]) or Provider()
    provider, of_worker = provider_named(id), credential_handoff.worker_variables(settings)
    keyed = of_worker.intersection(provider.variables) or has_reference(configured.options.api_key or "")
    if keyed or has_reference(model) or credential_handoff.keys_are_elsewhere(settings):
        return
    environment, reached = CredentialEnvironment(settings), not needs_key(config, id)
    await find_or_require_key(provider, configured, Keys(settings.auth), environment, reached=reached)


def check_spelling(settings: Settings, config: Config, model: str) -> None:
    """Raises MisspeltModel; not for a name that may be a newer model's."""
    tables, today = ModelTables(settings.models_file), date.today()
    if catalogue.nearest_model(model, config.provider, tables, today) is None:
        return
    id, name = split_model_id(model)
    listed = catalogue.list_models(id, config.provider, tables.all(), today)
    if (meant := find_meant(name, [split_model_id(each.model)[1] for each in listed])) is not None:
        raise MisspeltModel(model, f"{id}/{meant}")


def unknown_model_remarks(settings: Settings, config: Config, model: str) -> Iterator[str]:
    """Says that no table has the model, and of which one it gets what is not known: it may be newer."""
    with suppress(UsageError):  # it cannot be asked, which is said elsewhere
        match = catalogue.match_model(model, config.provider, ModelTables(settings.models_file))
        if match.unknown:
            like = f", and is taken for {on_one_line(match.alike)}" if match.alike else ""
            fetch = "--refresh" if settings.models_url else f"--refresh={TABLE_ADDRESS}"
            known = f"is not in the table of models{like}: `holdfast models {fetch}` fetches a newer one."
            yield f"{on_one_line(model)} {known}"


def model_name_remarks(settings: Settings, config: Config, model: str) -> Iterator[str]:
    """As `unknown_model_remarks`; of a misspelt name, what may have been meant."""
    try:
        check_spelling(settings, config, model)
    except MisspeltModel as error:
        yield f"Warning: {error.question}"
    else:
        yield from unknown_model_remarks(settings, config, model)


def list_variants(settings: Settings, config: Config, model: str) -> tuple[str, ...]:
    """The variants of a model, which is named as `-m` takes it. Raises UsageError for one that cannot be asked."""
    return catalogue.variants_of(model, config.provider, ModelTables(settings.models_file))


def check_variant(settings: Settings, config: Config, model: str, variant: str) -> None:
    """Raises UsageError for a variant that the model lacks; it names those that there are."""
    known = list_variants(settings, config, model)
    if variant not in known:
        raise unknown_variant_error(model, variant, known)


def check_priced(settings: Settings, config: Config, model: str, limits: ChosenLimits) -> None:
    """Under a limit of cost, chosen or configured, raises UsageError for a model whose price is not known, or not with
    its options: the turn's, or one that the configuration names for subagents, summaries, titles or long
    conversations."""
    if not (limits.of_cost or config.holdfast.budget.of_cost):
        return
    tables = ModelTables(settings.models_file)
    for named in dict.fromkeys((model, *_other_models(config))):
        try:
            facts = catalogue.facts_of(named, config.provider, tables)
        except UsageError:
            if named == model:
                raise
            continue  # it cannot be asked at all
        id, name = split_model_id(named)
        entry = (config.provider.get(id) or Provider()).models.get(name) or ProviderModel()
        if (why := unpriced_text(named, facts.price, requested_terms(entry.options))) is not None:
            raise UsageError(why)


def _other_models(config: Config) -> Iterator[str]:
    asked = [agent for agent in available_agents(config).values() if agent.mode is not AgentMode.PRIMARY]
    asked.append(hidden_agent(COMPACTION, config))
    named = [*(agent.model for agent in asked), config.holdfast.larger_model]
    if not is_disabled(TITLE, config):
        named.append(hidden_agent(TITLE, config).model or config.small_model)
    yield from (each for each in named if each is not None)
