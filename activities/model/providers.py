"""The model providers known by name, and how any other is reached."""

import json
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from activities.model import azure, vertex
from activities.model.endpoint import Wire
from activities.model.optional_packages import check_extra
from activities.model.other_programs_keys import check_has_keys
from activities.model.wires.litellm.litellm_names import LITELLM_PROVIDERS, TEXT_ONLY
from workflows.domain.config.allowed_models import check_allowed
from workflows.domain.config.config import Config
from workflows.domain.config.provider_settings import Provider
from workflows.domain.errors import UsageError
from workflows.domain.value import Value

_BEDROCK_KEY: Final = "AWS_BEARER_TOKEN_BEDROCK"
_AWS_PROFILE: Final = "AWS_PROFILE"
_AWS_KEYS: Final = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
# variables of one sign-in: they are taken together, as some of one shell and some of another fit no account
AWS_SIGN_IN: Final = frozenset({_BEDROCK_KEY, _AWS_PROFILE, *_AWS_KEYS})


class KnownProvider(Value):
    """A provider. `litellm`: its name there; `variables` may hold its key, the usual one first; `settings` may hold
    more of its configuration, which is no secret, and `signing` the secrets that its requests are signed with.

    `address`: where it is reached unless configured otherwise; without one, litellm knows. `wire`: how its models are
    asked, but for those of the patterns in `models`; None: as the protocol's name says. One that is not `listed` is
    known by name only.
    """

    id: str
    litellm: str
    variables: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    signing: tuple[str, ...] = ()
    needs_key: bool = True
    address: str | None = None
    wire: Wire | None = None
    models: dict[Wire, tuple[str, ...]] = {}
    listed: bool = True

    def wire_of(self, model: str) -> Wire | None:
        others = (wire for wire, patterns in self.models.items() if any(fnmatchcase(model, each) for each in patterns))
        return next(others, self.wire)


def _known(id: str, *variables: str, litellm: str | None = None, **more: Any) -> KnownProvider:
    return KnownProvider(id=id, litellm=litellm or id, variables=variables, **more)


def _vertex(id: str) -> KnownProvider:
    """Google's application credentials sign in; a key reaches Gemini alone."""
    return KnownProvider(
        id=id,
        litellm=vertex.VERTEX,
        variables=("GOOGLE_VERTEX_API_KEY",),
        settings=vertex.SETTINGS,
        needs_key=False,
    )


def _bedrock(id: str) -> KnownProvider:
    """AWS's credentials sign requests; an API key of Bedrock's goes before them."""
    return KnownProvider(
        id=id,
        litellm="bedrock",
        variables=(_BEDROCK_KEY,),
        settings=("AWS_REGION", "AWS_DEFAULT_REGION", _AWS_PROFILE),
        signing=_AWS_KEYS,
        needs_key=False,
    )


def _local(id: str, address: str, litellm: str = "openai") -> KnownProvider:
    """A program on the same machine, at its documented default address; most speak OpenAI's protocol."""
    return _known(id, litellm=litellm, needs_key=False, address=address)


OPENAI_URL: Final = "https://api.openai.com/v1"

_TABLE: Final[Sequence[KnownProvider]] = (
    _known("anthropic", "ANTHROPIC_API_KEY"),
    _known("openai", "OPENAI_API_KEY", address=OPENAI_URL),
    _known("google", "GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "GOOGLE_API_KEY", litellm="gemini"),
    _known("gemini", "GEMINI_API_KEY", "GOOGLE_API_KEY"),
    _known("azure", "AZURE_API_KEY", "AZURE_OPENAI_API_KEY", settings=azure.SETTINGS),
    _known(azure.COGNITIVE_SERVICES, "AZURE_COGNITIVE_SERVICES_API_KEY", litellm=azure.AZURE, settings=azure.SETTINGS),
    _known(
        "cohere",
        "COHERE_API_KEY",
        "CO_API_KEY",
        litellm="cohere_chat",
        address="https://api.cohere.ai/compatibility/v1",  # docs.cohere.com, "Compatibility API"
        wire=Wire.CHAT,
    ),
    _bedrock("amazon-bedrock"),
    _bedrock("bedrock"),
    _vertex("google-vertex"),
    _vertex("google-vertex-anthropic"),
    _vertex("vertex_ai"),
    _known("cometapi", "COMETAPI_KEY", "COMETAPI_API_KEY", address="https://api.cometapi.com/v1", wire=Wire.CHAT),
    _known(
        "ai21", "AI21_API_KEY", litellm="ai21_chat", address="https://api.ai21.com/studio/v1", wire=Wire.CHAT
    ),  # of ai21's own package
    _local("ollama", "http://127.0.0.1:11434", litellm="ollama_chat"),
    _local("ollama_chat", "http://127.0.0.1:11434", litellm="ollama_chat"),
    _local("lmstudio", "http://127.0.0.1:1234/v1"),
    _local("lm_studio", "http://127.0.0.1:1234/v1"),
    _local("llamafile", "http://127.0.0.1:8080/v1"),
    _local("lemonade", "http://127.0.0.1:8000/api/v1"),
    _local("docker_model_runner", "http://127.0.0.1:12434/engines/v1"),
)
KNOWN: Final = {provider.id: provider for provider in _TABLE}
# written by tests/providers/write_known_providers.py, with the sources
FILE: Final = Path(__file__).with_name("known_providers.json")


def _read_providers() -> dict[str, KnownProvider]:
    found = json.loads(FILE.read_bytes())["providers"]
    return KNOWN | {id: KnownProvider.model_validate({"id": id, **known}) for id, known in found.items()}


PROVIDERS: Final = _read_providers()
SETTINGS: Final = frozenset(name for provider in _TABLE for name in provider.settings)
# those of the file, by litellm's name of the company
_COMPANIES: Final = {provider.litellm: provider for provider in reversed(PROVIDERS.values()) if provider.wire}
_USUAL: Final = ("anthropic", "google", "ollama", "openai", "openrouter")  # named to people, of all those
_MOST: Final = 8  # configured providers that a message names

OPENAI_COMPATIBLE: Final = "@ai-sdk/openai-compatible"  # a protocol of many providers, without an address

# packages in OpenCode's configuration → the provider whose protocol they speak
PROTOCOL_OF_PACKAGE: Final = {
    OPENAI_COMPATIBLE: "openai",
    "@ai-sdk/openai": "openai",
    "@ai-sdk/anthropic": "anthropic",
    "@ai-sdk/google": "gemini",
    "@ai-sdk/google-vertex": vertex.VERTEX,
    "@ai-sdk/google-vertex/anthropic": vertex.VERTEX,
    "@ai-sdk/amazon-bedrock": "bedrock",
    "@ai-sdk/azure": "azure",
    "@ai-sdk/mistral": "mistral",
    "@ai-sdk/groq": "groq",
    "@ai-sdk/xai": "xai",
    "@ai-sdk/cohere": "cohere_chat",
    "@ai-sdk/cerebras": "cerebras",
    "@ai-sdk/perplexity": "perplexity",
    "@ai-sdk/togetherai": "together_ai",
    "@ai-sdk/deepinfra": "deepinfra",
    "@ai-sdk/gateway": "vercel_ai_gateway",
    "@ai-sdk/vercel": "v0",
    "@openrouter/ai-sdk-provider": "openrouter",
}


def provider_named(id: str) -> KnownProvider:
    """The provider of this name; one not in the table goes to litellm as it is, its key in `<ID>_API_KEY`."""
    if id in PROVIDERS:
        return PROVIDERS[id]
    variable = f"{id.upper().replace('-', '_')}_API_KEY"
    if (same := company(id)) is not None:
        return same.model_copy(update={"id": id, "variables": (variable, *same.variables)})
    return KnownProvider(id=id, litellm=id, variables=(variable,), listed=False)


def company(protocol: str) -> KnownProvider | None:
    """The provider that has this name with litellm, if we reach it ourselves."""
    return _COMPANIES.get(protocol)


def is_subscription(id: str) -> bool:
    """Whether a provider is a monthly plan, by the endings that models.dev gives such names."""
    return id.endswith("-coding-plan")


def split_model_id(model: str) -> tuple[str, str]:
    """Provider and name of a "provider/model". Raises UsageError for anything else."""
    id, slash, name = model.partition("/")
    if id and slash and not name:
        raise UsageError(f"{model!r} names no model after the '/': `holdfast models {id}` lists those that are known.")
    if not name:
        raise UsageError(
            f"{model!r} names no provider: write provider/model, such as anthropic/claude-sonnet-4-5. "
            "`holdfast models` lists them."
        )
    if not id:
        raise UsageError(f"{model!r} names no provider before the '/': write provider/model.")
    return id, name


def no_address_error(id: str) -> UsageError:
    """For a provider without an address: its requests must not go to another company."""
    return UsageError(
        f"Provider {id!r} has no address: give it as provider.{id}.options.baseURL in opencode.json. Nothing was sent."
    )


def no_tools_error(id: str) -> UsageError:
    """For a provider that an agent cannot work with."""
    return UsageError(f"litellm makes one text of a conversation for {id!r}, without tools: name another provider.")


def check_provider(id: str, configured: Mapping[str, Provider]) -> None:
    """Raises UsageError for a provider that no request can reach, with or without a key."""
    own = configured.get(id) or Provider()
    check_extra(PROTOCOL_OF_PACKAGE.get(own.npm or "", provider_named(id).litellm))
    if own.npm is not None and own.npm not in PROTOCOL_OF_PACKAGE:
        known = ", ".join(sorted(PROTOCOL_OF_PACKAGE))
        raise UsageError(f"provider.{id}.npm is {own.npm!r}, which Holdfast does not know. It knows: {known}.")
    if own.options.base_url or own.npm not in (None, OPENAI_COMPATIBLE) or id in PROVIDERS:
        return
    check_has_keys(id)
    if id in TEXT_ONLY:
        raise no_tools_error(id)
    if id not in LITELLM_PROVIDERS:
        raise no_address_error(id) if id in configured else unknown_provider_error(id, configured)


def check_model(model: str, config: Config) -> None:
    """Raises UsageError for one that no request may or can reach, with or without a key."""
    id, name = split_model_id(model)
    check_allowed(config, id, name)
    check_provider(id, config.provider)


def unknown_provider_error(id: str, configured: Mapping[str, Provider]) -> UsageError:
    sentences = [f"There is no provider {id!r}."]
    if near := nearest_name(id, configured):
        sentences.append(f"Did you mean {near!r}?")
    if configured:
        sentences.append(f"Configured: {_listed(sorted(configured))}.")
    others = len(PROVIDERS | dict.fromkeys(LITELLM_PROVIDERS)) - len(_USUAL)
    sentences.append(f"Built in: {', '.join(_USUAL)} and {others} more.")
    sentences.append(f"One of your own needs its address, as provider.{id}.options.baseURL in opencode.json.")
    return UsageError(" ".join(sentences))


def nearest_name(id: str, configured: Collection[str] = ()) -> str | None:
    """The closest known name; those that people use come before those that only litellm knows."""
    for names in ([*configured, *PROVIDERS], sorted(LITELLM_PROVIDERS)):
        if close := get_close_matches(id.lower(), names, n=1):
            return close[0]
    return None


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST
    return ", ".join(names[:_MOST]) + (f" and {more} more" if more > 0 else "")
