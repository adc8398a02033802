"""Which providers and models a configuration lets ask (opencode.md 14.3)."""

from workflows.domain.config.config import Config
from workflows.domain.config.provider_settings import Provider
from workflows.domain.errors import UsageError


def check_allowed(config: Config, provider: str, model: str | None = None) -> None:
    """Raises UsageError for one that the configuration excludes."""
    if (field := _excluded_by(config, provider, model)) is not None:
        named = provider if model is None or not field.startswith("provider.") else f"{provider}/{model}"
        raise UsageError(f"{named!r} is excluded by `{field}` of the configuration: choose another one, or change it.")


def is_allowed(config: Config, provider: str, model: str | None = None) -> bool:
    return _excluded_by(config, provider, model) is None


def _excluded_by(config: Config, provider: str, model: str | None) -> str | None:
    if provider in config.disabled_providers:
        return "disabled_providers"
    if config.enabled_providers is not None and provider not in config.enabled_providers:
        return "enabled_providers"
    own = config.provider.get(provider, Provider())
    if model is not None and model in own.blacklist:
        return f"provider.{provider}.blacklist"
    if model is not None and own.whitelist is not None and model not in own.whitelist:
        return f"provider.{provider}.whitelist"
    return None
