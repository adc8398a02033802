"""What can be chosen in a directory: its providers and their models."""

from collections.abc import Callable, Sequence
from datetime import date

from activities.model import catalogue, litellm_table
from activities.model.catalogue import Choice
from activities.model.keys import Keys
from worker.handover import HandedOver
from worker.settings import Settings
from workflows.domain.config.config import Config
from workflows.domain.errors import UsageError


def providers(settings: Settings, config: Config, *, every: bool = False) -> list[str]:
    """The providers that have a key here or are configured, or all."""
    return catalogue.providers(config.provider, Keys(settings.auth).list(), dict(HandedOver(settings)), every=every)


def models(config: Config, ids: Sequence[str], tell: Callable[[str], None]) -> list[Choice]:
    """The models of these providers; one that is configured wrongly is left out, and told."""
    table, today, found = litellm_table.read(), date.today(), list[Choice]()
    for id in ids:
        try:
            found += catalogue.choices(id, config.provider, table, today)
        except UsageError as error:
            tell(f"Left out: {error}")
    return found
