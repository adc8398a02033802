"""The providers and models to choose from in a directory."""

from collections.abc import Callable, Sequence
from datetime import date

from activities.model import catalogue
from activities.model.catalogue import ModelChoice
from activities.model.keys import Keys
from activities.model.model_options import unknown_variant_error
from activities.model.model_table import ModelTables
from worker.credential_handoff import CredentialEnvironment
from worker.settings import Settings
from workflows.domain.config.config import Config
from workflows.domain.errors import UsageError


def list_providers(settings: Settings, config: Config, *, every: bool = False) -> list[str]:
    """Providers with a key here or in the configuration, or all."""
    return catalogue.list_providers(
        config.provider, Keys(settings.auth).list(), dict(CredentialEnvironment(settings)), every=every
    )


def list_models(
    settings: Settings, config: Config, ids: Sequence[str], warn: Callable[[str], None]
) -> list[ModelChoice]:
    """Warns of a wrongly configured provider, and leaves it out."""
    table, today, found = ModelTables(settings.models_file).all(), date.today(), list[ModelChoice]()
    for id in ids:
        try:
            found += catalogue.list_models(id, config.provider, table, today)
        except UsageError as error:
            warn(f"Left out: {error}")
    return found


def nearest_model(settings: Settings, config: Config, model: str) -> str | None:
    """The model that was probably meant by a name that is not known here, if it resembles one."""
    return catalogue.nearest_model(model, config.provider, ModelTables(settings.models_file), date.today())


def list_variants(settings: Settings, config: Config, model: str) -> tuple[str, ...]:
    """Of a model, by its name as `-m` takes it. Raises UsageError for one that cannot be asked."""
    return catalogue.variants_of(model, config.provider, ModelTables(settings.models_file))


def check_variant(settings: Settings, config: Config, model: str, variant: str) -> None:
    """Raises UsageError for a variant that the model lacks; it names those that there are."""
    known = list_variants(settings, config, model)
    if variant not in known:
        raise unknown_variant_error(model, variant, known)
