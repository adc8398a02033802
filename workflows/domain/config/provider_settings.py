"""How a model provider is reached, and what its models are (opencode.md 14.3)."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, ConfigDict, Field, JsonValue, NonNegativeFloat, PositiveInt
from pydantic.alias_generators import to_camel

from workflows.domain.config.section import Section


def _check_milliseconds(value: object) -> object:
    """Refuses what is no time with a message of its own: JSON's `true` would count as 1."""
    if value is None or value is False:
        return value
    if isinstance(value, int | float) and value is not True and value > 0:
        return value
    raise ValueError("it takes milliseconds, such as 600000, or false for no limit")


Milliseconds = Annotated[float | Literal[False] | None, BeforeValidator(_check_milliseconds)]


class GoogleAuthOptions(Section):
    """How to sign in to Google's Vertex AI."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True)

    key_filename: str | None = None
    """The file of its credentials."""


class ProviderOptions(Section):
    """`{env:…}`, `{file:…}` and `{config:…}` are resolved at use."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True)

    api_key: str | None = None
    """The key, best as `{env:NAME}` or `{file:path}`."""
    key_name: str | None = None
    """Which of several keys of `holdfast auth login --name` is used."""
    base_url: str | None = Field(None, alias="baseURL")
    """Where the provider is."""
    headers: dict[str, str] = {}
    """More headers of its requests."""
    project: str | None = None
    """Vertex AI: the project that is asked."""
    location: str | None = None
    """Vertex AI: the location that is asked."""
    google_auth_options: GoogleAuthOptions = GoogleAuthOptions()
    """Vertex AI: how it is signed in to."""
    proxy: str | None = None
    """A proxy for this provider, in place of the environment's."""
    ca_file: str | None = None
    """A file of certificate authorities that are trusted in addition."""
    cert_file: str | None = None
    """A file with the certificate that is shown to the provider, and with its key if `keyFile` names none."""
    key_file: str | None = None
    """The file with the key of `certFile`."""
    resource_name: str | None = None
    """Azure: the resource that is asked."""
    api_version: str | None = None
    """Azure: the version of its interface."""
    use_deployment_based_urls: bool | None = None
    """Azure: whether addresses name a deployment."""
    set_cache_key: bool | None = None
    """Whether requests have the session's id as `prompt_cache_key`."""
    timeout: Milliseconds = None
    """How long the provider may be silent, in milliseconds; false: without limit."""
    header_timeout: Milliseconds = None
    """How long it may take until the headers of its response, in milliseconds."""
    chunk_timeout: Milliseconds = None
    """How long it may be silent within its response, in milliseconds."""
    region: str | None = None
    """Bedrock: AWS's region."""
    profile: str | None = None
    """Bedrock: the profile of AWS that signs in."""
    endpoint: str | None = None
    """Bedrock: another address."""


class Prices(Section):
    """US dollars per million tokens."""

    input: NonNegativeFloat = 0
    """For what the model reads."""
    output: NonNegativeFloat = 0
    """For what the model writes."""
    cache_read: NonNegativeFloat | None = None
    """For what the provider has in its cache."""
    cache_write: NonNegativeFloat | None = None
    """For what is written to the provider's cache."""
    context_over_200k: "Prices | None" = None
    """The prices of longer contexts."""


class ModelLimits(Section):
    """Limits in tokens."""

    context: PositiveInt
    """How many the model takes, with its answer."""
    input: PositiveInt | None = None
    """How many a request may have, where that is less than the context."""
    output: PositiveInt
    """How many an answer may have."""


class Modalities(Section):
    """Kinds of content."""

    input: tuple[str, ...] = ()
    """What the model takes: `text`, `image`, `pdf` and others."""


class ProviderModel(Section):
    """A model of a provider."""

    id: str | None = None
    """Its name at the provider, if it differs from the key."""
    name: str | None = None
    """Its name in its system prompt."""
    attachment: bool | None = None
    """Whether it sees pictures and PDF files."""
    modalities: Modalities | None = None
    """What it sees."""
    reasoning: bool | None = None
    """Whether it thinks."""
    temperature: bool | None = None
    """Whether it takes `temperature` and `top_p`."""
    cost: Prices | None = None
    """What it costs, in US dollars per million tokens."""
    limit: ModelLimits | None = None
    """How much it takes and answers, in tokens."""
    options: dict[str, JsonValue] = {}
    """More for each request to it."""
    variants: dict[str, dict[str, JsonValue]] = {}
    """Options by a variant's name; `disabled` there removes one."""
    headers: dict[str, str] = {}
    """More headers of each request to it."""


class Provider(Section):
    """A model provider, or changes to a known one."""

    npm: str | None = None
    """The protocol that it speaks, by the name of OpenCode's package."""
    options: ProviderOptions = ProviderOptions()
    """How it is reached."""
    models: dict[str, ProviderModel] = {}
    """Its models by name."""
    whitelist: tuple[str, ...] | None = None
    """The only models of it that are asked."""
    blacklist: tuple[str, ...] = ()
    """Models of it that are not asked."""
