"""The model providers known by name, and how any other is reached."""

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import Final

from activities.model.litellm_providers import LITELLM_PROVIDERS, TEXT_ONLY
from workflows.domain.config.config import Provider
from workflows.domain.errors import UsageError
from workflows.domain.value import Value


class KnownProvider(Value):
    """A provider. `litellm`: its name there; `variables` may hold its key, the usual one first.

    `address`: where it is reached unless configured otherwise; without one, litellm knows. One that is not `listed` is
    known by name only.
    """

    id: str
    litellm: str
    variables: tuple[str, ...] = ()
    needs_key: bool = True
    address: str | None = None
    listed: bool = True


def _known(
    id: str, *variables: str, litellm: str | None = None, needs_key: bool = True, address: str | None = None
) -> KnownProvider:
    return KnownProvider(id=id, litellm=litellm or id, variables=variables, needs_key=needs_key, address=address)


def _local(id: str, address: str, litellm: str = "openai") -> KnownProvider:
    """A program on the same machine, at its documented default address; most speak OpenAI's protocol."""
    return _known(id, litellm=litellm, needs_key=False, address=address)


OPENAI_URL: Final = "https://api.openai.com/v1"

_TABLE: Final[Sequence[KnownProvider]] = (
    _known("anthropic", "ANTHROPIC_API_KEY"),
    _known("openai", "OPENAI_API_KEY", address=OPENAI_URL),
    _known("google", "GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "GOOGLE_API_KEY", litellm="gemini"),
    _known("gemini", "GEMINI_API_KEY", "GOOGLE_API_KEY"),
    _known("azure", "AZURE_API_KEY", "AZURE_OPENAI_API_KEY"),
    _known("mistral", "MISTRAL_API_KEY"),
    _known("groq", "GROQ_API_KEY"),
    _known("openrouter", "OPENROUTER_API_KEY"),
    _known("deepseek", "DEEPSEEK_API_KEY"),
    _known("xai", "XAI_API_KEY"),
    _known("together", "TOGETHER_API_KEY", "TOGETHERAI_API_KEY", litellm="together_ai"),
    _known("togetherai", "TOGETHER_API_KEY", "TOGETHERAI_API_KEY", litellm="together_ai"),
    _known("fireworks", "FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY", litellm="fireworks_ai"),
    _known("fireworks-ai", "FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY", litellm="fireworks_ai"),
    _known("cohere", "COHERE_API_KEY", "CO_API_KEY", litellm="cohere_chat"),
    _known("cerebras", "CEREBRAS_API_KEY"),
    _known("perplexity", "PERPLEXITY_API_KEY", "PERPLEXITYAI_API_KEY"),
    _known("moonshotai", "MOONSHOT_API_KEY", litellm="moonshot"),
    _known("huggingface", "HF_TOKEN", "HUGGINGFACE_API_KEY"),
    _known("nvidia", "NVIDIA_API_KEY", "NVIDIA_NIM_API_KEY", litellm="nvidia_nim"),
    _known("deepinfra", "DEEPINFRA_API_KEY"),
    _known("amazon-bedrock", litellm="bedrock", needs_key=False),  # AWS credentials, by their own chain
    _known("bedrock", needs_key=False),
    _known("google-vertex", litellm="vertex_ai", needs_key=False),  # Google's application credentials
    _known("vertex_ai", needs_key=False),
    _known("cometapi", "COMETAPI_KEY", "COMETAPI_API_KEY", address="https://api.cometapi.com/v1"),
    _known("ai21", "AI21_API_KEY", litellm="ai21_chat"),
    _local("ollama", "http://127.0.0.1:11434", litellm="ollama_chat"),
    _local("ollama_chat", "http://127.0.0.1:11434", litellm="ollama_chat"),
    _local("lmstudio", "http://127.0.0.1:1234/v1"),
    _local("lm_studio", "http://127.0.0.1:1234/v1"),
    _local("llamafile", "http://127.0.0.1:8080/v1"),
    _local("lemonade", "http://127.0.0.1:8000/api/v1"),
    _local("docker_model_runner", "http://127.0.0.1:12434/engines/v1"),
)
PROVIDERS: Final = {provider.id: provider for provider in _TABLE}
_USUAL: Final = ("anthropic", "google", "ollama", "openai", "openrouter")  # named to people, of all those
_MOST: Final = 8  # configured providers that a message names

OPENAI_COMPATIBLE: Final = "@ai-sdk/openai-compatible"  # a protocol of many providers, without an address

# packages in OpenCode's configuration → the provider whose protocol they speak
PROTOCOL_OF_PACKAGE: Final = {
    OPENAI_COMPATIBLE: "openai",
    "@ai-sdk/openai": "openai",
    "@ai-sdk/anthropic": "anthropic",
    "@ai-sdk/google": "gemini",
    "@ai-sdk/google-vertex": "vertex_ai",
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
    "@openrouter/ai-sdk-provider": "openrouter",
}


def provider_named(id: str) -> KnownProvider:
    """The provider of this name; one not in the table goes to litellm as it is, its key in `<ID>_API_KEY`."""
    variable = f"{id.upper().replace('-', '_')}_API_KEY"
    return PROVIDERS.get(id) or KnownProvider(id=id, litellm=id, variables=(variable,), listed=False)


def split_model_id(model: str) -> tuple[str, str]:
    """Provider and name of a "provider/model". Raises UsageError for anything else."""
    id, _, name = model.partition("/")
    if not name:
        raise UsageError(
            f"{model!r} names no provider: write provider/model, such as anthropic/claude-sonnet-4-5. "
            "`holdfast models` lists them."
        )
    if not id:
        raise UsageError(f"{model!r} names no provider before the '/': write provider/model.")
    return id, name


def no_address_error(id: str) -> UsageError:
    """For a provider without an address, which must not get another company's."""
    return UsageError(
        f"Provider {id!r} has no address: give it as provider.{id}.options.baseURL in opencode.json. Nothing was sent."
    )


def no_tools_error(id: str) -> UsageError:
    """For a provider that an agent cannot work with."""
    return UsageError(f"litellm makes one text of a conversation for {id!r}, without tools: name another provider.")


def check_provider(id: str, configured: Mapping[str, Provider]) -> None:
    """Raises UsageError for a provider that no request can reach, with or without a key."""
    own = configured.get(id) or Provider()
    if own.npm is not None and own.npm not in PROTOCOL_OF_PACKAGE:
        known = ", ".join(sorted(PROTOCOL_OF_PACKAGE))
        raise UsageError(f"provider.{id}.npm is {own.npm!r}, which Holdfast does not know. It knows: {known}.")
    if own.options.base_url or own.npm not in (None, OPENAI_COMPATIBLE) or id in PROVIDERS:
        return
    if id in TEXT_ONLY:
        raise no_tools_error(id)
    if id not in LITELLM_PROVIDERS:
        raise no_address_error(id) if id in configured else unknown_provider_error(id, configured)


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
    """Prefers names that people use to those that only litellm knows."""
    for names in ([*configured, *PROVIDERS], sorted(LITELLM_PROVIDERS)):
        if close := get_close_matches(id.lower(), names, n=1):
            return close[0]
    return None


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST
    return ", ".join(names[:_MOST]) + (f" and {more} more" if more > 0 else "")
