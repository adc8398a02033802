"""The models that can be chosen: those that the configuration describes, and those that litellm's table has."""

from collections.abc import Collection, Iterator, Mapping
from datetime import date

from activities.model import litellm_table
from activities.model.endpoints import facts_with, protocol_of
from activities.model.litellm_providers import NAMES, TEXT_ONLY
from activities.model.litellm_table import Table
from activities.model.port import Endpoint, ModelFacts
from activities.model.providers import PROVIDERS, must_be_known, provider_named
from activities.model.wires.table import routed
from workflows.domain.config.config import Provider
from workflows.domain.errors import UsageError
from workflows.domain.value import Value


class Choice(Value):
    """A model as `-m` takes it, with what a turn would know of it; `configured`: the configuration describes it."""

    model: str
    name: str | None = None
    configured: bool = False
    facts: ModelFacts


def providers(
    configured: Collection[str], stored: Collection[str], environment: Mapping[str, str], *, every: bool = False
) -> list[str]:
    """The providers that are configured, and those that have a key, or all; of one with several names, the first."""
    found = {id: _place(id) for id in sorted(configured)}
    for id in (*PROVIDERS, *sorted(NAMES.difference(PROVIDERS, TEXT_ONLY))):
        keyed = every or any(map(environment.get, provider_named(id).variables))
        if id in stored or (keyed and _place(id) not in found.values()):
            found.setdefault(id, _place(id))
    return list(found)


def _place(id: str) -> tuple[str, str | None]:
    """What two names of one provider have in common."""
    provider = provider_named(id)
    return provider.litellm, provider.address


def choices(id: str, providers: Mapping[str, Provider], table: Table, today: date) -> Iterator[Choice]:
    """The models of a provider; an address of one's own that is described by models has no others.

    `providers` are the configured ones. Raises UsageError for a provider that cannot be asked.
    """
    must_be_known(id, providers)
    configured = providers.get(id) or Provider()
    protocol = protocol_of(id, configured, configured.options.base_url)
    for name, entry in configured.models.items():
        facts = facts_with(entry, litellm_table.facts(table, f"{protocol}/{entry.id or name}"))
        yield Choice(model=f"{id}/{name}", name=entry.name, configured=True, facts=facts)
    if not _has_table(id, protocol) or (configured.models and configured.options.base_url):
        return
    for name in dict.fromkeys(sorted(litellm_table.names(table, protocol, today))):
        facts = litellm_table.facts(table, f"{protocol}/{name}")
        if name not in configured.models and _reachable(id, f"{protocol}/{name}", facts, configured):
            yield Choice(model=f"{id}/{name}", facts=facts)


def _has_table(id: str, protocol: str) -> bool:
    """Whether the models of the protocol are the provider's own: a program on this machine serves what it has."""
    provider = provider_named(id)
    known = provider.listed or id in NAMES
    return known and protocol == provider.litellm and (protocol != "openai" or id == "openai")


def _reachable(id: str, model: str, facts: ModelFacts, configured: Provider) -> bool:
    try:
        routed(Endpoint(model=model), responses=facts.responses, package=configured.npm, id=id)
    except UsageError:
        return False
    return True
