"""The model that works where neither a person nor the configuration names one."""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Final

from activities.credentials.keys import Keys
from activities.model import catalogue
from activities.model.azure import AZURE
from activities.model.litellm_table import ModelTable
from activities.model.model_names import read_name
from activities.model.model_table import ModelTables
from activities.model.providers import provider_named, split_model_id
from workflows.domain.config.allowed_models import is_allowed
from workflows.domain.config.config import Config
from workflows.domain.config.provider_settings import Provider
from workflows.domain.errors import UsageError

# A company's models for everyday work with tools: not its dearest, its smallest, a preview or a dated copy. Claude
# Sonnet first, as OpenCode prefers it of Anthropic's; a gateway has several companies' and the first row counts. From
# 5.6 on OpenAI calls this size "sol", from 4 on Google calls it "argon". N: the version.
_LINES: Final = tuple(
    re.compile(line.replace("N", r"(\d{1,2}(?:[.-]\d{1,2})?)"))
    for line in (
        "claude-sonnet-N",
        "gpt-N(?:-sol)?",
        "gemini-N-(?:pro|argon)",
        "grok-N",
        "mistral-(?:large|medium)-N",
        "qwenN-max",
        "glm-N",
        "kimi-kN(?:-code)?",
        "deepseek-vN(?:-pro)?",
        "minimax-mN",
        "gpt-oss-(120)b",
    )
)
_KEY: Final = re.compile(r".*_KEY")  # tokens, as GITHUB_TOKEN, are set for other work, too

NO_KEY: Final = (
    "No provider has a key yet: `holdfast auth login anthropic` (or openai, google, openrouter …), or export "
    "ANTHROPIC_API_KEY."
)


class DefaultModels:
    """Knows which models could work: `environment` has the variables that may hold keys."""

    def __init__(self, keys: Keys, environment: Mapping[str, str], tables: ModelTables) -> None:
        self.keys = keys
        self.environment = environment
        self.tables = tables

    def choose(self, config: Config) -> str:
        """The one provider's newest main model. Raises UsageError where that is none, or not one."""
        found = self.candidates(config)
        if len(found) != 1:
            raise UsageError(self.refusal(config, found))
        return found[0]

    def candidates(self, config: Config) -> tuple[str, ...]:
        """The main model of each provider that can be asked: of the configured ones, else of those with a key
        (as OpenCode)."""
        providers = self.providers(config)
        if not providers:
            return ()
        table, today = self.tables.all(), date.today()
        found = (main_model(id, config, table, today) for id in providers)
        return tuple(model for model in found if model is not None)

    def newest(self, family: str, config: Config, near: str | None) -> str | None:
        """The newest model of a family: of the provider of the model `near`, else of one that can be asked."""
        table, today = self.tables.all(), date.today()
        for id in dict.fromkeys((*([near.partition("/")[0]] if near else []), *self.providers(config))):
            names = [(name, read_name(name)) for name in _usable_names(id, config, table, today)]
            akin = [(name, each) for name, each in names if each is not None and family in each.words]
            found = [(each.version, -len(each.words), -len(name), name) for name, each in akin]
            if found:
                return f"{id}/{max(found)[-1]}"
        return None

    def providers(self, config: Config) -> tuple[str, ...]:
        keyed = tuple(self._with_key())
        own = tuple(id for id, each in config.provider.items() if id in keyed or _is_reached(each))
        return tuple(id for id in own or keyed if is_allowed(config, id))

    def refusal(self, config: Config, candidates: tuple[str, ...]) -> str:
        """Why none is chosen, and what to do."""
        if candidates:
            return (
                f"No model is chosen, and {len(candidates)} providers can be asked. Name one with -m: "
                f"{', '.join(candidates)}."
            )
        if providers := self.providers(config):
            return (
                f"No model is chosen, and no main model of {', '.join(providers)} is known: name one with -m. "
                f"`holdfast models {providers[0]}` lists them."
            )
        return NO_KEY

    def _with_key(self) -> Iterator[str]:
        stored = [provider for provider, name in self.keys.entries() if name is None]
        variables = {name: value for name, value in self.environment.items() if _KEY.fullmatch(name)}
        for id in catalogue.list_providers((), stored, variables):
            if id in stored or any(map(variables.get, provider_named(id).variables)):
                yield id


def main_model(id: str, config: Config, table: ModelTable, today: date) -> str | None:
    """A provider's newest main model; else the first that the configuration describes; else None, as for one that
    cannot be asked."""
    configured = config.provider.get(id) or Provider()
    usable = _usable_names(id, config, table, today)
    of_table = [] if provider_named(id).litellm == AZURE else usable  # where people name their deployments
    name = newest_main(of_table) or next((name for name in usable if name in configured.models), None)
    return f"{id}/{name}" if name is not None else None


def _usable_names(id: str, config: Config, table: ModelTable, today: date) -> list[str]:
    """None of a provider that cannot be asked."""
    try:
        listed = [choice.model for choice in catalogue.list_models(id, config.provider, table, today)]
    except UsageError:
        return []
    names = [split_model_id(each)[1] for each in listed]
    return [name for name in names if is_allowed(config, id, name)]


def newest_main(names: list[str]) -> str | None:
    """The newest model of the first line that the names have."""
    for line in _LINES:
        found = [(version, -len(name), name) for name in names if (version := _version(line, name)) is not None]
        if found:
            return max(found)[-1]
    return None


def _version(line: re.Pattern[str], name: str) -> Decimal | None:
    """4-5 and 4.5 alike, and 4.20 before 4.3, as companies count."""
    hit = line.fullmatch(name.rpartition("/")[2].lower())
    return Decimal(hit[1].replace("-", ".")) if hit else None


def _is_reached(provider: Provider) -> bool:
    """Whether it needs no key but the one that is configured."""
    options = provider.options
    authorized = any(name.lower() == "authorization" for name in options.headers)
    return bool(options.api_key or options.key_name or options.base_url or authorized)
